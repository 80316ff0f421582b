"""The lesson as static pages: `make site`. One tree for learners, one for instructors.

`plan` says which pages there are; `body`, with `prose`, `targets`, `code` and `boxes`, turns a
scanned page into HTML; `gathered` makes what is collected from all episodes; `write` puts it all
into the template.
"""
