"""How tests start MPI processes, with each MPI library that is installed."""
import os
import shutil

MPI = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none"]
    + (["--allow-run-as-root"] if os.geteuid() == 0 else []),
}
INSTALLED = [name for name, words in MPI.items() if shutil.which(words[0])]
