"""The lesson as static pages: `make site`. One tree for learners, one for instructors.

Sphinx builds them, with the theme Furo. It is fed with what the scanner reads, so that the site
shows a page as the lint and the notebooks understand it: `plan` says which pages there are, `page`
(with `prose` and `targets`) turns a scanned page into Sphinx's nodes, `overviews` makes what is
collected from all episodes, `book` hands each page to Sphinx, and `build` runs it. `theme/` holds
what the lesson adds to Furo.
"""
