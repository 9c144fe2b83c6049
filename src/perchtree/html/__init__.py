"""A tree as one page that needs nothing but a browser: `content` gathers, `page.html` shows."""
