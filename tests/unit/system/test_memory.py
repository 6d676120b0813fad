import subprocess
import sys


def test_memory_beyond_the_limit_is_refused_at_once():
    code = (
        "from irbench.system.confinement import limit_memory; limit_memory(1 << 30)\n"
        "try: bytearray(2 << 30)\n"
        "except MemoryError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
