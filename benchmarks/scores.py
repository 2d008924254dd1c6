#!/usr/bin/env python3
"""Our scores beside public packages: benchmarks/scores.md says what came out.

Needs flite, and Python with pymcd, librosa, jiwer and soundfile.
  cargo build --release --example score
  benchmarks/scores.py target/release/examples/score
"""
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import jiwer
import librosa
import numpy as np
import pysptk
import pyworld
import soundfile
from fastdtw import fastdtw
from pymcd.mcd import Calculate_MCD
from scipy.spatial.distance import euclidean

SENTENCES = [
    "The birch canoe slid on the smooth planks.",
    "Glue the sheet to the dark blue background.",
    "It is easy to tell the depth of a well.",
    "The juice of lemons makes fine punch.",
]
VOICES = ["slt", "rms", "awb", "kal16"]
RATE, HOP, BLOCK = 22050, 256, 221


def clips(folder):
    """Each sentence in each voice, without silence around it, at our rate."""
    for number, sentence in enumerate(SENTENCES):
        for voice in VOICES:
            raw = folder / "raw.wav"
            subprocess.run(["flite", "-voice", voice, "-t", sentence, "-o", raw], check=True)
            wave, _ = librosa.load(raw, sr=RATE)
            wave = trimmed(np.round(wave * 32768) / 32768)
            soundfile.write(folder / f"{voice}_{number}.wav", wave, RATE, subtype="PCM_16")


def trimmed(wave):
    """As ours trims, so that the frames of all lie at the same times."""
    powers = [np.mean(wave[at : at + BLOCK] ** 2) for at in range(0, len(wave), BLOCK)]
    loud = np.flatnonzero(np.array(powers) >= max(powers) * 1e-4)
    return wave[loud[0] * BLOCK : (loud[-1] + 1) * BLOCK]


def world_cepstra(path):
    """pymcd's own cepstra."""
    wave, _ = librosa.load(path, sr=RATE)
    _, envelope, _ = pyworld.wav2world(wave.astype(np.double), fs=RATE, frame_period=5.0, fft_size=512)
    return pysptk.sptk.mcep(envelope, order=13, alpha=0.65, maxiter=0, etype=1, eps=1e-8, min_det=0.0, itype=3)


def without_level(one, two):
    """pymcd's figure without the term of the level, which it aligns without and counts."""
    one, two = world_cepstra(one)[:, 1:], world_cepstra(two)[:, 1:]
    _, path = fastdtw(one, two, dist=euclidean)
    apart = [np.linalg.norm(one[a] - two[b]) for a, b in path]
    return 10 / math.log(10) * math.sqrt(2) * float(np.mean(apart))


def main():
    score = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clips(folder)
        pairs = []
        for number in range(len(SENTENCES)):
            pairs += [(folder / f"slt_{number}.wav", folder / f"{voice}_{number}.wav") for voice in VOICES]
        arguments = [str(path) for pair in pairs for path in pair]
        ours = [json.loads(line) for line in subprocess.check_output([score, *arguments]).splitlines()]

        print("| clip | against | ours dB | pymcd dB | pymcd without level dB |\n|---|---|---|---|---|")
        figures = []
        for (one, two), our in zip(pairs, ours):
            theirs = Calculate_MCD("dtw").calculate_mcd(str(one), str(two))
            figures.append((our["distortion_db"], theirs, without_level(one, two)))
            print(f"| {two.stem} | {one.stem} | " + " | ".join(f"{x:.2f}" for x in figures[-1]) + " |")
        others = np.array([row for row in figures if row[1] > 0.01])
        print("\nmean of different voices: ours %.2f, pymcd %.2f, without level %.2f" % tuple(others.mean(0)))
        for name, column in (("pymcd", 1), ("without level", 2)):
            print(f"correlation of ours with {name}: {np.corrcoef(others[:, 0], others[:, column])[0, 1]:.3f}")

        print("\n| clip | frames | voicing differs | difference, median cents | within 50 cents |\n|---|---|---|---|---|")
        for (_, path), our in zip(pairs, ours):
            wave, _ = librosa.load(path, sr=RATE)
            theirs, voiced, _ = librosa.pyin(wave, fmin=60, fmax=500, sr=RATE, frame_length=2048, hop_length=HOP)
            found = np.array([x or np.nan for x in our["pitch_hz"]])
            length = min(len(found), len(theirs))
            found, theirs, voiced = found[:length], theirs[:length], voiced[:length]
            both = voiced & ~np.isnan(found)
            cents = np.abs(1200 * np.log2(found[both] / theirs[both]))
            differs = np.mean(voiced != ~np.isnan(found))
            print(f"| {path.stem} | {length} | {differs:.1%} | {np.median(cents):.1f} | {np.mean(cents < 50):.1%} |")

        generator = random.Random(5)
        texts, heard = [], []
        for _ in range(200):
            words = generator.choice(SENTENCES).lower().replace(".", "").split()
            texts.append(" ".join(words))
            changed = [generator.choice(["", word, word, word, "a", word + " b", word[1:]]) for word in words]
            heard.append(" ".join(" ".join(changed).split()))
        pairs = [text for pair in zip(texts, heard) for text in pair]
        counts = [json.loads(line) for line in subprocess.check_output([score, "--texts", *pairs]).splitlines()]
        for name, judge in (("words", jiwer.wer), ("characters", jiwer.cer)):
            each = [judge(text, said) for text, said in zip(texts, heard)]
            own = [count[name]["edits"] / count[name]["length"] for count in counts]
            total = sum(c[name]["edits"] for c in counts) / sum(c[name]["length"] for c in counts)
            worst = max(abs(a - b) for a, b in zip(each, own))
            print(f"\n{name}: over all {total:.6f}, jiwer {judge(texts, heard):.6f}; worst of 200 apart {worst:.1e}")


main()
