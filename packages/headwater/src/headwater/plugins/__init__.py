"""The plugins of headwater: features that import the rest, but not each other, and can be removed.

Each is registered by the entry point of its name, like those of other packages; see
`headwater.plugin`.
"""
