#!/usr/bin/env python3
"""The peer of `myxtts bench train`: the Python reference's own trainer on the same corpus and size.

    python3 -m venv VENV && VENV/bin/pip install coqui-tts==0.27.2 torch==2.8.0 torchaudio==2.8.0
    VENV/bin/python benchmarks/train_vs_reference.py --folder CORPUS --size tiny --vocab vocab.json

CORPUS holds `metadata.csv` (id|text|normalised text, as LJSpeech) and `wavs/ID.wav`, `.flac` or `.ogg`.
What runs is `Trainer.train_epoch` of coqui-tts-trainer over `GPTTrainer` and `XTTSDataset`: decode and
tokenise in DataLoader workers, which every epoch starts anew; mels and the codes of the frozen DVAE in
the main process, every step; forward, backward, AdamW with the recipe's settings. Nothing is
downloaded: the weights are random, which a step does not notice.

Changed against the reference, so that both train the same model: the sizes, also those it fixes in
its code (DVAE, conditioning encoder, perceiver); `--threads` (its import sets one); torchaudio's
fastest backend, where it would take the first. Without `--vocab` or XTTS_VOCAB a vocabulary of at
most `--text-vocab` tokens is learned from the corpus.

Prints one JSON document. `step_s` is the median over the full batches after `--warmup` steps, with
the wait for data and the codes; `samples_per_s` follows from it. `overall_samples_per_s` counts every
step, those that start an epoch too. `samples_per_core_s` is the same by CPU time of all processes,
for a machine that has other work. `peak_rss_bytes` is the peak of the main process plus the most
that the workers held besides what they share with it.
"""

import argparse
import contextlib
import json
import logging
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

# Waiting threads that spin would be counted as work.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# What it would do by itself once the workers have started, with a warning for each.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

RATE = 22_050
LANGUAGE = "en"
NEVER = 10**9

# The sizes of `myxtts`, by name.
XTTS_V2_PERCEIVER = {"num_latents": 32, "depth": 2, "heads": 8, "dim_head": 64}
RELEASED_DVAE = {"hidden_dim": 512, "codebook_dim": 512, "num_tokens": 1024}
SIZES = {
    "tiny": {
        "gpt": {"layers": 4, "dim": 192, "heads": 4},
        "encoder_blocks": 2,
        "perceiver": {"num_latents": 16, "depth": 1, "heads": 4, "dim_head": 48},
        "dvae": {"hidden_dim": 128, "codebook_dim": 128, "num_tokens": 512},
    },
    "small": {
        "gpt": {"layers": 8, "dim": 512, "heads": 8},
        "encoder_blocks": 4,
        "perceiver": XTTS_V2_PERCEIVER,
        "dvae": RELEASED_DVAE,
    },
    "normal": {
        "gpt": {"layers": 16, "dim": 768, "heads": 12},
        "encoder_blocks": 6,
        "perceiver": XTTS_V2_PERCEIVER,
        "dvae": RELEASED_DVAE,
    },
}


def fail(message):
    sys.exit(f"train_vs_reference: {message}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="corpus in the layout of LJSpeech")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--layers", type=int, help="instead of the size's")
    parser.add_argument("--dim", type=int, help="channels, instead of the size's")
    parser.add_argument("--heads", type=int, help="instead of the size's")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20, help="measured steps")
    parser.add_argument("--warmup", type=int, default=3, help="steps before them")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of torch, in the main process")
    parser.add_argument("--workers", type=int, default=2, help="of the DataLoader; 0: in the main process")
    parser.add_argument("--vocab", default=os.environ.get("XTTS_VOCAB"), help="vocab.json (or XTTS_VOCAB)")
    parser.add_argument("--text-vocab", type=int, default=4096, help="most tokens of a learned vocabulary")
    parser.add_argument("--cond-min-s", type=float, default=3.0, help="shortest conditioning segment")
    parser.add_argument("--cond-max-s", type=float, default=6.0, help="longest; all are padded to it")
    parser.add_argument("--grad-clip", type=float, default=0.0, help="largest norm; 0, as the recipe has it: none")
    given = parser.parse_args()
    if min(given.steps, given.batch_size, given.threads) < 1 or min(given.warmup, given.workers) < 0:
        parser.error("steps, batch size and threads are at least 1, warm-up and workers at least 0")
    if given.vocab and not os.path.exists(given.vocab):
        parser.error(f"there is no vocabulary at {given.vocab}")
    return given


def read_corpus(folder):
    """The clips as the reference's formatters list them."""
    try:
        lines = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        fail(f"{folder / 'metadata.csv'}: {error.strerror}")
    clips = []
    for number, line in enumerate(filter(None, lines), 1):
        fields = line.split("|")
        if len(fields) < 2:
            fail(f"metadata.csv, line {number}: expected id|text|normalised text")
        files = [folder / "wavs" / f"{fields[0]}{suffix}" for suffix in (".wav", ".flac", ".ogg")]
        audio = next((file for file in files if file.exists()), None)
        if audio is None:
            fail(f"metadata.csv, line {number}: {files[0]} does not exist, nor as .flac or .ogg")
        text = fields[2] if len(fields) > 2 else fields[1]
        clip = {"text": text, "audio_file": str(audio), "root_path": str(folder)}
        clips.append({**clip, "speaker_name": "corpus", "language": LANGUAGE})
    if not clips:
        fail(f"{folder / 'metadata.csv'} lists no clip")
    return clips


def learn_vocabulary(clips, tokens, path):
    """A vocabulary of the texts, laid out as the public one is."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer

    cleaner = VoiceBpeTokenizer(None)
    texts = [cleaner.preprocess_text(clip["text"], LANGUAGE) for clip in clips]
    special = ["[STOP]", "[UNK]", "[SPACE]", "[START]", f"[{LANGUAGE}]"]
    trainer = trainers.BpeTrainer(vocab_size=tokens, min_frequency=2, special_tokens=special, show_progress=False)
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(path)


def impose(size):
    """Gives the reference the sizes that its code fixes."""
    from TTS.tts.layers.xtts import gpt
    from TTS.tts.layers.xtts.trainer import gpt_trainer

    def resized(make, **sizes):
        return lambda *given, **named: make(*given, **{**named, **sizes})

    gpt_trainer.DiscreteVAE = resized(gpt_trainer.DiscreteVAE, **size["dvae"])
    gpt.PerceiverResampler = resized(gpt.PerceiverResampler, **size["perceiver"])
    gpt.ConditioningEncoder = resized(gpt.ConditioningEncoder, attn_blocks=size["encoder_blocks"])


def make_trainer(given, size, clips, folder):
    import torch
    from trainer import Trainer, TrainerArgs
    from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTArgs, GPTTrainer, GPTTrainerConfig
    from TTS.tts.models.xtts import XttsAudioConfig

    torch.manual_seed(0)
    vocabulary = given.vocab or f"{folder}/vocab.json"
    if not given.vocab:
        learn_vocabulary(clips, given.text_vocab, vocabulary)
    # The trainer demands these files. It takes from them what they hold: no weight of the DVAE.
    torch.save({}, f"{folder}/dvae.pth")
    torch.save(torch.ones(80), f"{folder}/mel_stats.pth")
    codes, sizes = size["dvae"]["num_tokens"], size["gpt"]
    model_args = GPTArgs(
        min_conditioning_length=round(given.cond_min_s * RATE),
        max_conditioning_length=round(given.cond_max_s * RATE),
        mel_norm_file=f"{folder}/mel_stats.pth", dvae_checkpoint=f"{folder}/dvae.pth", tokenizer_file=vocabulary,
        gpt_num_audio_tokens=codes + 2, gpt_start_audio_token=codes, gpt_stop_audio_token=codes + 1,
        gpt_use_masking_gt_prompt_approach=True, gpt_use_perceiver_resampler=True,
        gpt_layers=sizes["layers"], gpt_n_model_channels=sizes["dim"], gpt_n_heads=sizes["heads"],
        decoder_input_dim=sizes["dim"],
    )
    config = GPTTrainerConfig(
        output_path=str(folder), run_name="bench", model_args=model_args,
        audio=XttsAudioConfig(sample_rate=RATE, dvae_sample_rate=RATE, output_sample_rate=24_000),
        batch_size=given.batch_size, num_loader_workers=given.workers, grad_clip=given.grad_clip, run_eval=False,
        print_step=NEVER, plot_step=NEVER, log_model_step=NEVER, save_step=NEVER, save_checkpoints=False,
        optimizer="AdamW", optimizer_wd_only_on_weights=True, lr=5e-6,
        optimizer_params={"betas": [0.9, 0.96], "eps": 1e-8, "weight_decay": 1e-2},
        lr_scheduler="MultiStepLR", lr_scheduler_params={"milestones": [NEVER], "gamma": 0.5, "last_epoch": -1},
    )
    model = GPTTrainer(config)
    return Trainer(
        TrainerArgs(), config, output_path=folder, model=model, train_samples=clips, eval_samples=[],
        parse_command_line_args=False,
    )


def check_clips(dataset, clips):
    """The reference replaces a clip it cannot use by another, silently; here that ends the run."""
    seconds, tokens = 0.0, 0
    for clip in clips:
        try:
            text, _, wave, *_ = dataset.load_item(clip)
        except Exception as error:  # Whatever it is, the reference would swallow it.
            fail(f"the reference cannot load {clip['audio_file']}: {error!r}")
        if wave.shape[-1] > dataset.max_wav_len or len(text) > dataset.max_text_len:
            fail(f"{clip['audio_file']} is longer than the reference takes: {wave.shape[-1]} samples, {len(text)} tokens")
        seconds += wave.shape[-1] / RATE
        tokens += len(text)
    return {"clips": len(clips), "audio_s": round(seconds, 2), "text_tokens": tokens}


def of_workers(reading):
    """A reading of every worker that is alive."""
    import psutil

    readings = []
    for worker in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            readings.append(reading(worker))
    return readings


def cpu_seconds():
    """Of this process, its workers, and those that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = of_workers(lambda worker: sum(worker.cpu_times()[:2]))
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(alive)


class Enough(Exception):
    """Ends an epoch after the last step to measure."""


class Clock:
    """Stands around `Trainer.train_step` and notes where the time goes."""

    def __init__(self, trainer, warmup, steps):
        self.warmup, self.last = warmup, warmup + steps
        self.steps, self.codes_s, self.worker_bytes = [], 0.0, 0
        self.cpu_s = -cpu_seconds() if warmup == 0 else 0.0
        self.make_codes, self.train_step = trainer.model.format_batch_on_device, trainer.train_step
        trainer.model.format_batch_on_device, trainer.train_step = self.timed_codes, self.timed_step

    def timed_codes(self, batch):
        start = time.time()
        batch = self.make_codes(batch)
        self.codes_s = time.time() - start
        return batch

    def timed_step(self, batch, steps, step, loader_start):
        # The wall clock, because `loader_start` is the trainer's and of that clock.
        arrived, rows = time.time(), len(batch["wav"])
        outcome = self.train_step(batch, steps, step, loader_start)
        times = {"step_s": time.time() - loader_start, "wait_s": arrived - loader_start, "codes_s": self.codes_s}
        self.steps.append({"rows": rows, "loss": float(outcome[1]["loss"]), **times})
        self.worker_bytes = max(self.worker_bytes, sum(of_workers(lambda worker: worker.memory_full_info().uss)))
        if len(self.steps) == self.warmup:
            self.cpu_s = -cpu_seconds()
        if len(self.steps) == self.last:
            self.cpu_s += cpu_seconds()
            raise Enough
        return outcome

    def figures(self, batch_size):
        measured = self.steps[self.warmup :]
        total = sum(step["step_s"] for step in measured)
        rows = sum(step["rows"] for step in measured)
        full = [step for step in measured if step["rows"] == batch_size]
        if not full:
            fail(f"none of the measured steps had {batch_size} rows; measure more --steps")
        median = statistics.median(step["step_s"] for step in full)
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "samples_per_s": batch_size / median,
            "overall_samples_per_s": rows / total,
            "samples_per_core_s": rows / self.cpu_s,
            "data_wait_pct": 100 * sum(step["wait_s"] for step in measured) / total,
            "codes_pct": 100 * sum(step["codes_s"] for step in measured) / total,
            "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit + self.worker_bytes,
            "worker_bytes": self.worker_bytes,
            "step_s": median,
            "step_s_range": [min(step["step_s"] for step in full), max(step["step_s"] for step in full)],
            "loss_first": self.steps[0]["loss"],
            "loss_last": self.steps[-1]["loss"],
        }


def run(given, size, clips, folder):
    import torch
    from data_vs_python import fastest_backend
    from TTS.tts.layers.xtts.trainer.dataset import XTTSDataset

    trainer = make_trainer(given, size, clips, folder)
    model = trainer.model
    dataset = XTTSDataset(model.config, list(clips), model.xtts.tokenizer, RATE)
    corpus = check_clips(dataset, clips)
    backend, _ = fastest_backend(dataset)
    torch.set_num_threads(given.threads)
    clock = Clock(trainer, given.warmup, given.steps)
    with contextlib.suppress(Enough):
        while True:
            trainer.train_epoch()
    parts = {"gpt": model.xtts.gpt, "dvae": model.dvae}
    settings = {
        "size": given.size, **size, "batch_size": given.batch_size, "steps": given.steps, "warmup": given.warmup,
        "threads": torch.get_num_threads(), "workers": given.workers, "grad_clip": given.grad_clip,
        "conditioning_s": [given.cond_min_s, given.cond_max_s], "text_vocab": model.args.gpt_number_text_tokens,
        "parameters": {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()},
        "device": str(next(model.parameters()).device), "audio_backend": backend, "corpus": corpus,
        "load_average": round(os.getloadavg()[0], 2), "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "torchaudio", "coqui-tts", "coqui-tts-trainer")},
    }
    return {**clock.figures(given.batch_size), "settings": settings}


def main():
    given = arguments()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    clips = read_corpus(given.folder)
    if given.batch_size > len(clips):
        fail(f"a batch of {given.batch_size} needs as many clips; {given.folder} has {len(clips)}")
    size = {**SIZES[given.size]}
    size["gpt"] = {name: getattr(given, name) or value for name, value in size["gpt"].items()}
    # Standard output is for the document; the reference writes there as well.
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        impose(size)
        report = run(given, size, clips, Path(folder))
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
