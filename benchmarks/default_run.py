"""The default run, judged: `myxtts train` with nothing else, then two questions.

Which of 12 sentences of the training corpus are identified in the samples the run ends with, and
which of 12 sentences that are not in the corpus but are made of its words? Judged by
`judge_speech.py` (its docstring says what to install), whose Python runs this script too:

    python benchmarks/default_run.py target/release/myxtts WORK [-- further flags of train]

WORK is a folder to make. Prints one JSON document: seconds of training, both judgements.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "crates" / "myxtts-data" / "corpus"


def judge(samples, sentences=None):
    """The judge's document on a folder of samples."""
    command = [sys.executable, str(HERE / "judge_speech.py"), str(samples), "--json"]
    for voice in ("slt", "rms"):
        command += ["--voice", f"{voice}={CORPUS}/wavs/{voice}_*"]
    if sentences:
        command += ["--sentences", str(sentences)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def speak_held_out(program, run, folder, environment):
    """Sentences the model has not read, alternating the two voices."""
    folder.mkdir()
    listed = []
    texts = (CORPUS / "held_out.txt").read_text().splitlines()
    for index, text in enumerate(filter(None, texts)):
        speaker = ("slt", "rms")[index % 2]
        name = f"{index:02}_{speaker}.wav"
        command = [program, "synthesize", "--checkpoint", str(run), "--speaker", speaker]
        command += ["--greedy", "--text", text, "--out", str(folder / name)]
        # A sentence the model cannot say counts as not identified.
        if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode == 0:
            listed.append({"file": name, "text": text, "speaker": speaker})
    (folder / "samples.json").write_text(json.dumps(listed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("flags", nargs="*")
    given = parser.parse_args()
    program = str(given.program.resolve())
    given.work.mkdir(parents=True)
    run = given.work / "run"
    environment = dict(os.environ, XDG_CACHE_HOME=str(given.work.resolve() / "cache"))
    begin = time.monotonic()
    command = [program, "train", "--checkpoint-dir", str(run), "--json", *given.flags]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    seconds = time.monotonic() - begin
    trained = json.loads(done.stdout)
    held_out = given.work / "held_out"
    speak_held_out(program, run, held_out, environment)
    print(
        json.dumps(
            {
                "seconds": round(seconds, 1),
                "steps": trained["steps"],
                "data_wait_pct": trained["data_wait_pct"],
                "training_sentences": judge(trained["samples"])["totals"],
                "held_out_sentences": judge(held_out, CORPUS / "held_out.txt")["totals"],
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
