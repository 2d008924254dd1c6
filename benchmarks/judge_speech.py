#!/usr/bin/env python3
"""Judges synthesised speech by programs that know nothing of MyXTTS: which sentence, what was heard, whose voice?

    python3 -m venv VENV
    VENV/bin/pip install pocketsphinx resemblyzer "setuptools<81" soundfile librosa torch==2.8.0 \
        moonshine-voice==0.0.65
    VENV/bin/python benchmarks/judge_speech.py SAMPLES --voice 'slt=wavs/slt_*' --voice 'rms=wavs/rms_*'

SAMPLES is a folder with `samples.json`, a list of {"file": "x.wav", "text": "...", "speaker": "slt"},
and the audio it names. All weights come with the packages; nothing is downloaded.

Which sentence: pocketsphinx may answer only with one of the distinct texts of samples.json, or of
the lines of `--sentences FILE`. A sample counts when the answer is its own text; a guess is right
once in as many times as there are sentences.

What was heard (`--transcribe`): moonshine's smallest English model writes down whatever it hears, with no list
to choose from. Its answer is compared with the text in lower case without punctuation, numbers in words and
spelling British; the character error rate is all edits over all characters of the texts.

Whose voice: the cosine of resemblyzer's embedding of the sample with that of each reference
recording of a voice, averaged per voice. It does not hear what is said: speech played backwards keeps
its voice, so similarity counts only for speech that is identified. A sample in which no speech is
found scores 0. `--voice NAME=PATH` takes a recording, a folder or a pattern, and may be repeated;
`--voices FILE` reads {"NAME": ["PATH", ...]}, with paths relative to that file.

`judges.md` beside this script says what both answer to speech whose quality is known.

The exit status tells only whether the samples could be judged, not how they fared.
"""

import argparse
import glob
import json
import os
import re
import statistics
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

# Before torch is imported: with one thread the same samples give the same figures.
os.environ.setdefault("OMP_NUM_THREADS", "1")

RATE = 16_000
AUDIO = {".wav", ".flac", ".ogg", ".mp3"}


def fail(message):
    sys.exit(f"judge_speech: {message}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path, help="folder with samples.json")
    parser.add_argument("--sentences", type=Path, help="the sentences to tell apart, one a line")
    parser.add_argument("--transcribe", action="store_true", help="character error rates besides, by moonshine")
    parser.add_argument("--voice", action="append", default=[], metavar="NAME=PATH", help="reference recordings")
    parser.add_argument("--voices", type=Path, help='JSON: {"NAME": ["PATH", ...]}')
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    return parser.parse_args()


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except ValueError as error:
        fail(f"{path} is not JSON: {error}")


def read_samples(folder):
    path = folder / "samples.json"
    samples = read_json(path)
    if not isinstance(samples, list) or not samples:
        fail(f"{path} must hold a list of samples")
    for number, sample in enumerate(samples, 1):
        for key in ("file", "text", "speaker"):
            if not isinstance(sample, dict) or not isinstance(sample.get(key), str):
                fail(f"{path}: sample {number} has no text under {key!r}")
        if not words(sample["text"]):
            fail(f"{path}: the text of sample {number} has no words")
    return samples


def recordings(voice, path):
    """The recordings that one PATH of a voice names."""
    found = [Path(name) for name in sorted(glob.glob(str(path)))]
    found = [file for entry in found for file in (sorted(entry.rglob("*")) if entry.is_dir() else [entry])]
    found = [file for file in found if file.suffix.lower() in AUDIO]
    if not found:
        fail(f"voice {voice!r}: no recording ({', '.join(sorted(AUDIO))}) at {path}")
    return found


def read_voices(given):
    voices = {}
    for option in given.voice:
        voice, equals, path = option.partition("=")
        if not (voice and equals and path):
            fail(f"--voice {option}: expected NAME=PATH")
        voices.setdefault(voice, []).extend(recordings(voice, path))
    if given.voices:
        listed = read_json(given.voices)
        if not isinstance(listed, dict) or not all(isinstance(paths, list) for paths in listed.values()):
            fail(f'{given.voices} must hold {{"NAME": ["PATH", ...]}}')
        for voice, paths in listed.items():
            for path in paths:
                voices.setdefault(voice, []).extend(recordings(voice, given.voices.parent / path))
    return voices


def words(text):
    """A sentence as the dictionary of pocketsphinx spells it."""
    return " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("’", "'")))


def load(path):
    """A recording as mono floats at 16 kHz."""
    import librosa
    import numpy
    import soundfile

    try:
        wave, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (OSError, soundfile.LibsndfileError) as error:
        fail(f"{path} cannot be read: {error}")
    wave = wave.mean(axis=1)
    if wave.size == 0:
        fail(f"{path} holds no audio")
    if not numpy.isfinite(wave).all():
        fail(f"{path} holds samples that are not finite; what made it is at fault")
    return librosa.resample(wave, orig_sr=rate, target_sr=RATE) if rate != RATE else wave


class Listener:
    """pocketsphinx, allowed to hear nothing but the given sentences."""

    def __init__(self, sentences):
        from pocketsphinx import Decoder

        with tempfile.TemporaryDirectory() as folder:
            grammar = Path(folder) / "sentences.jsgf"
            # Without a grammar first, to ask the dictionary.
            dictionary = Decoder(samprate=RATE, lm=None, loglevel="FATAL")
            unknown = sorted({word for text in sentences for word in text.split() if not dictionary.lookup_word(word)})
            if unknown:
                fail(f"the dictionary of pocketsphinx lacks {', '.join(unknown)}; leave their sentences out")
            grammar.write_text(
                f"#JSGF V1.0;\ngrammar sentences;\npublic <sentence> = {' | '.join(sentences)};\n", encoding="utf-8"
            )
            # The mean of each recording alone: what was heard before must not matter.
            self.decoder = Decoder(samprate=RATE, jsgf=str(grammar), cmn="batch", loglevel="FATAL")

    def hear(self, wave):
        """The sentence heard; empty when none fits."""
        import numpy

        peak = float(numpy.abs(wave).max())
        loud = wave * (0.5 / peak) if peak > 0 else wave
        self.decoder.start_utt()
        self.decoder.process_raw((loud * 32767).astype("<i2").tobytes(), full_utt=True)
        self.decoder.end_utt()
        heard = self.decoder.hyp()
        return heard.hypstr if heard else ""


class Transcriber:
    """moonshine tiny-en, which may answer anything. Releases after 0.0.65 come without their weights."""

    def __init__(self):
        from moonshine_voice import ModelArch, Transcriber as Moonshine, get_model_path

        self.moonshine = Moonshine(str(get_model_path("tiny-en")), model_arch=ModelArch.TINY)

    def hear(self, wave):
        """What was heard, in words as `spelled` has them."""
        if not wave.any():
            return ""
        transcript = self.moonshine.transcribe_without_streaming(wave.tolist(), RATE)
        return spelled(" ".join(line.text for line in transcript.lines))


# What a transcript may write otherwise than a text and mean the same.
SPELLINGS = {"neighbor": "neighbour", "neighbors": "neighbours", "harbor": "harbour"} | dict(
    zip("0 1 2 3 4 5 6 7 8 9 10".split(), "zero one two three four five six seven eight nine ten".split())
)


def spelled(text):
    return " ".join(SPELLINGS.get(word, word) for word in words(text).split())


def edits(heard, meant):
    """Insertions, deletions and replacements that turn one text into the other, at least."""
    row = list(range(len(meant) + 1))
    for i, a in enumerate(heard, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(meant, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


class VoiceJudge:
    """resemblyzer, with the reference recordings of every voice."""

    def __init__(self, voices):
        from resemblyzer import VoiceEncoder

        self.encoder = VoiceEncoder("cpu", verbose=False)
        self.references = {}
        for voice, files in voices.items():
            embeddings = [self.embedding(load(file)) for file in files]
            self.references[voice] = [embedding for embedding in embeddings if embedding is not None]
            if not self.references[voice]:
                fail(f"voice {voice!r}: no speech in its recordings")

    def embedding(self, wave):
        """A vector of length 1; none when there is no speech."""
        from resemblyzer import preprocess_wav

        if not wave.any():
            return None
        speech = preprocess_wav(wave, source_sr=RATE)
        return self.encoder.embed_utterance(speech) if speech.size else None

    def similarity(self, wave):
        embedding = self.embedding(wave)
        if embedding is None:
            return dict.fromkeys(self.references, 0.0)
        return {
            voice: statistics.fmean(float(embedding @ reference) for reference in references)
            for voice, references in self.references.items()
        }


def judge(folder, samples, sentences, voice_judge, transcriber):
    listener = Listener(sentences)
    rows = []
    for sample in samples:
        wave = load(folder / sample["file"])
        heard = listener.hear(wave)
        row = {**sample, "seconds": round(len(wave) / RATE, 3), "heard": heard}
        row["identified"] = heard == words(sample["text"])
        if transcriber:
            row["transcript"] = transcriber.hear(wave)
            row["edits"] = edits(row["transcript"], spelled(sample["text"]))
        if voice_judge:
            similarity = voice_judge.similarity(wave)
            own = similarity[sample["speaker"]]
            row["similarity"] = {voice: round(value, 4) for voice, value in similarity.items()}
            row["right_voice"] = all(own > value for voice, value in similarity.items() if voice != sample["speaker"])
        rows.append(row)
    return rows


def totals(rows, sentences, voices):
    figures = {
        "samples": len(rows),
        "identified": sum(row["identified"] for row in rows),
        "sentences": len(sentences),
    }
    if all("edits" in row for row in rows):
        characters = sum(len(spelled(row["text"])) for row in rows)
        figures["cer"] = round(sum(row["edits"] for row in rows) / characters, 4)
    if voices:
        own = [row["similarity"][row["speaker"]] for row in rows]
        figures |= {"similarity_mean": round(statistics.fmean(own), 4), "similarity_least": min(own)}
        if len(voices) > 1:
            right = sum(row["right_voice"] for row in rows)
            figures |= {"right_voice": right, "right_voice_for_all": right == len(rows)}
    return figures


def table(rows, figures, voices):
    width = max(len(row["file"]) for row in rows)
    heads = "".join(f" {voice:>8}" for voice in voices)
    print(f"{'file':{width}}  speaker  identified{heads}  heard")
    for row in rows:
        cosines = "".join(f" {row['similarity'][voice]:8.3f}" for voice in voices)
        answer = "yes" if row["identified"] else "no"
        heard = "its text" if row["identified"] else row["heard"] or "nothing"
        print(f"{row['file']:{width}}  {row['speaker']:7}  {answer:10}{cosines}  {heard}")
    print()
    print(f"identified: {figures['identified']}/{figures['samples']}, among {figures['sentences']} sentences")
    if "cer" in figures:
        print(f"character error rate: {100 * figures['cer']:.1f} %")
    if not voices:
        print("voice: not judged (no --voice)")
        return
    print(f"similarity to the right voice: mean {figures['similarity_mean']:.3f}, least {figures['similarity_least']:.3f}")
    if len(voices) > 1:
        print(f"nearer to the right voice than to any other: {figures['right_voice']}/{figures['samples']}")


def main():
    given = arguments()
    warnings.filterwarnings("ignore")
    samples, voices = read_samples(given.samples), read_voices(given)
    texts = [sample["text"] for sample in samples]
    if given.sentences:
        try:
            listed = given.sentences.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            fail(f"{given.sentences}: {error.strerror}")
    sentences = list(dict.fromkeys(filter(None, map(words, listed if given.sentences else texts))))
    for sample in samples:
        if words(sample["text"]) not in sentences:
            fail(f"{sample['file']}: its text is not in {given.sentences}: {sample['text']}")
        if voices and sample["speaker"] not in voices:
            fail(f"{sample['file']}: no recording of {sample['speaker']!r}; add --voice {sample['speaker']}=PATH")
    voice_judge = VoiceJudge(voices) if voices else None
    transcriber = Transcriber() if given.transcribe else None
    rows = judge(given.samples, samples, sentences, voice_judge, transcriber)
    figures = totals(rows, sentences, voices)
    if given.json:
        used = ["pocketsphinx", "resemblyzer"] + (["moonshine-voice"] if given.transcribe else [])
        judges = {name: version(name) for name in used}
        references = {voice: len(files) for voice, files in voices.items()}
        document = {"totals": figures, "samples": rows, "references": references, "judges": judges}
        print(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        table(rows, figures, voices)


if __name__ == "__main__":
    main()
