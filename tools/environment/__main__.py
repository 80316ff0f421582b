"""`python -m tools.environment FOLDER [package …] [-r FILE]`: see make.py."""

from tools.environment.make import main

if __name__ == "__main__":
    main()
