"""Start the capture of a Python process that `headwater run` starts.

Python imports a module of this name at its start. The next one on the path is imported too.
"""


def _import_next() -> None:
    """Import the next module of this name on the path, as Python would without this one.

    The folder of this file is removed from the path first.
    """
    import os
    import sys
    from importlib import import_module

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import_module("sitecustomize")
    except ImportError:
        if this is not None:
            sys.modules["sitecustomize"] = this


def _start() -> None:
    """Start the capture, with headwater_client of this environment or else of this file."""
    import os
    import sys
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    try:
        if "headwater_client" not in sys.modules:
            capture = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            package = os.path.dirname(capture)
            try:
                import_module("headwater_client")
            except ImportError:  # not installed in this environment: use the one of the caller
                spec = spec_from_file_location(
                    "headwater_client",
                    os.path.join(package, "__init__.py"),
                    submodule_search_locations=[package],
                )
                if spec is not None and spec.loader is not None:
                    module = sys.modules["headwater_client"] = module_from_spec(spec)
                    spec.loader.exec_module(module)
        import_module("headwater_client.capture._process").start_process()
    except Exception:
        sys.modules.pop("headwater_client", None)  # lineage must never break a process


_import_next()
_start()
