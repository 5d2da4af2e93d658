"""The package works from the zip file that executors get."""

import subprocess
import sys

from drumbeat.pipeline.shipping import zip_package


def test_executors_can_import_the_package_from_the_zip(tmp_path):
    path = zip_package(str(tmp_path))
    program = (
        f"import sys; sys.path.insert(0, {path!r})\n"
        "import drumbeat.pipeline.job, drumbeat.core.reducer\n"
        "print(drumbeat.pipeline.job.__file__)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert answer.stdout.strip() == f"{path}/drumbeat/pipeline/job.py"
