"""`python -m commands`: what `./run` starts."""

from commands.cli import main

main()
