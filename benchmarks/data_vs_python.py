#!/usr/bin/env python3
"""The host stage against the Python reference's dataset, in one run on the same files.

    python3 -m venv VENV && VENV/bin/pip install coqui-tts==0.27.2 torch torchaudio
    VENV/bin/python benchmarks/data_vs_python.py --myxtts target/release/myxtts --vocab vocab.json

Rounds alternate: the reference (`XTTSDataset` items, collated by four, one torch thread), then
`myxtts bench data` (one thread). Both are counted in CPU time, so that other work on the machine
does not decide. torchaudio reads files by whichever backend it finds first, and they differ by a
factor of several (ffmpeg is slow to open a file): the reference is given the fastest one here.
`--record FILE` replaces the section "Against the Python reference" of that file.
"""

import argparse
import datetime
import functools
import json
import logging
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.metadata import version

BATCH = 4
HEADING = "## Against the Python reference"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--myxtts", default="target/release/myxtts", help="the program")
    parser.add_argument("--vocab", default=os.environ.get("XTTS_VOCAB"), help="vocab.json of XTTS (or XTTS_VOCAB)")
    parser.add_argument("--clips", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--record", help="markdown file to write the figures to")
    given = parser.parse_args()
    if not given.vocab:
        parser.error("--vocab or XTTS_VOCAB must name a vocab.json")
    return given


def ours(given, *more):
    command = [given.myxtts, "bench", "data", "--json", *more]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def reference(corpus, vocab):
    """The dataset as the reference's own trainer makes it, and totals over its samples."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    from TTS.config.shared_configs import BaseDatasetConfig
    from TTS.tts.datasets import load_tts_samples
    from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
    from TTS.tts.layers.xtts.trainer.dataset import XTTSDataset
    from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTArgs, GPTTrainerConfig

    where = BaseDatasetConfig(
        formatter="ljspeech", dataset_name="bench", path=corpus, meta_file_train="metadata.csv", language="en"
    )
    samples, _ = load_tts_samples([where], eval_split=False)
    flags = GPTArgs(gpt_use_masking_gt_prompt_approach=True, gpt_use_perceiver_resampler=True)
    tokenizer = VoiceBpeTokenizer(vocab)
    dataset = XTTSDataset(GPTTrainerConfig(model_args=flags), list(samples), tokenizer, 22050, is_eval=False)
    loaded = [dataset.load_item(sample) for sample in samples]
    totals = {
        "clips": len(samples),
        "samples": sum(item[2].shape[-1] for item in loaded),
        "text_tokens": sum(len(item[0]) for item in loaded),
    }
    return dataset, totals


def pass_over(dataset):
    """One epoch; clips per second of CPU time."""
    start, clips = time.process_time(), 0
    for first in range(0, len(dataset), BATCH):
        rows = range(first, min(first + BATCH, len(dataset)))
        clips += dataset.collate_fn([dataset[row] for row in rows])["wav"].shape[0]
    return clips / (time.process_time() - start)


def fastest_backend(dataset):
    """Makes torchaudio's fastest backend its only one; clips per core-second with each."""
    import torchaudio

    load, rates = torchaudio.load, {}
    for backend in torchaudio.list_audio_backends():
        torchaudio.load = functools.partial(load, backend=backend)
        pass_over(dataset)
        rates[backend] = pass_over(dataset)
    best = max(rates, key=rates.get)
    torchaudio.load = functools.partial(load, backend=best)
    return best, rates


def row(name, rates):
    return f"| {name} | {statistics.median(rates):.0f} | {min(rates):.0f} to {max(rates):.0f} |"


def write_record(path, section):
    before = open(path, encoding="utf-8").read() if os.path.exists(path) else "# The data path\n\n"
    head, _, tail = before.partition(HEADING)
    _, next_heading, rest = tail.partition("\n## ")
    with open(path, "w", encoding="utf-8") as file:
        file.write(head.rstrip("\n") + "\n\n" + section + (next_heading + rest if next_heading else ""))


def main():
    given = arguments()
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as corpus:
        ours(given, "--make-corpus", corpus, "--clips", str(given.clips))
        dataset, totals = reference(corpus, given.vocab)
        torch.set_num_threads(1)
        backend, backends = fastest_backend(dataset)
        theirs_rates, our_rates = [], []
        for number in range(given.rounds):
            theirs_rates.append(pass_over(dataset))
            report = ours(given, "--corpus", corpus, "--vocab", given.vocab, "--passes", "1")
            our_rates.append(report["host_stage_clips_per_core_s"])
            print(f"round {number + 1}: reference {theirs_rates[-1]:.0f}, ours {our_rates[-1]:.0f} clips per core-second", file=sys.stderr)
    if dataset.failed_samples:
        sys.exit(f"the reference left out {len(dataset.failed_samples)} clips; the two did not do the same work")
    for total, value in totals.items():
        if report[total] != value:
            sys.exit(f"{total}: {value} in the reference, {report[total]} in ours; the two did not do the same work")
    if not all(stage["cpu"] for stage in report["stages"]):
        sys.exit("this system does not report the CPU time of a thread; the rates cannot be compared")
    ratio = statistics.median(our_rates) / statistics.median(theirs_rates)
    least = min(a / b for a, b in zip(our_rates, theirs_rates))
    tried = ", ".join(f"{name} {rate:.0f}" for name, rate in backends.items())
    command = f"VENV/bin/python benchmarks/data_vs_python.py --clips {given.clips} --rounds {given.rounds}"
    section = f"""{HEADING}

{datetime.date.today():%d %B %Y}, {report["machine"]["name"]}, {report["machine"]["cores"]} cores, load average {os.getloadavg()[1]:.0f}, Python {platform.python_version()}, torch
{torch.__version__}, torchaudio {version("torchaudio")}, coqui-tts {version("coqui-tts")}. Written by `{command}`.

The same {totals["clips"]} generated clips ({report["audio_seconds"]:.0f} s of audio, {totals["text_tokens"]} text tokens, counted alike by both) and the same
output: waveform, tokens, conditioning segment, padded batch. {given.rounds} alternating rounds, one thread each, CPU time.

| | clips per core-second, median | range |
|---|---|---|
{row(f"reference, `XTTSDataset` items and `collate_fn`, {backend} backend", theirs_rates)}
{row("`myxtts` host stage", our_rates)}

Ratio of medians: **{ratio:.1f}x**; the least of any round: {least:.1f}x.

The reference was given the fastest backend that torchaudio has here; one pass with each, clips per
core-second: {tried}. Left alone, torchaudio takes the first of these.

How alike the two are: the totals of clips, samples and tokens are compared by the script and must be
equal; values are compared by the parity tests of `myxtts-audio` and `myxtts-text`, not here. The
reference draws its clips at random and pads to the longest of {BATCH}; ours takes each clip once and
pads to one of {report["buckets"]} bucket shapes ({report["padding_percent"]:.1f} % padding).
"""
    print(section)
    if given.record:
        write_record(given.record, section)


if __name__ == "__main__":
    main()
