"""From a tree to flat clusters: cuts, stable ids, exemplars."""
