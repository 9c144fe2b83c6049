"""A collection over HTTP, for a team's own network: `perch serve` and docs/service.md."""
