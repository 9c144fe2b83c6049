"""A tree as one page that needs nothing but a browser.

`content` gathers what is shown; `page` puts it into `page.html`, with `page.css` and `page.js`.
"""
