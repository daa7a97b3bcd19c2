"""The modules of the chaos suite find each other."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
