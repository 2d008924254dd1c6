#!/usr/bin/env python3
"""The peer of `myxtts bench synth`: the Python reference speaking with the same weights.

    python3 -m venv VENV && VENV/bin/pip install coqui-tts==0.27.2 torch==2.8.0 torchaudio==2.8.0
    myxtts bench synth --size tiny --peer VENV/bin/python

`myxtts` starts this program itself and asks it for one measurement after the other, between its own,
so that both sides see the same machine. Requests are lines on standard input, answers lines of JSON on
standard output:

    make FOLDER   random weights of the size in the public layout, a voice and a text; the model is loaded
    whole N       seconds for a sentence of N codes: `Xtts.inference`, greedy, nothing penalised
    first         seconds until `Xtts.inference_stream` gives its first chunk, as it is by default
    peak          the largest memory this process had, in bytes

STOP's score is lowered in the weights, so that a sentence has exactly as many codes as are asked for.
The text's tokens are given, and so is the voice: neither side's preparation of them is measured.
"""

import argparse
import contextlib
import json
import logging
import os
import resource
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

# What it would do by itself once threads have started, with a warning.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# The sizes of `myxtts`, by name: blocks, channels, heads, codes, channels of the decoder.
SIZES = {
    "tiny": (4, 192, 4, 512, 64),
    "small": (8, 512, 8, 1024, 512),
    "xtts-v2": (30, 1024, 16, 1024, 512),
}
NEVER = -1e4
LANGUAGE = "en"
SENTENCE = "the birch canoe slid on the smooth planks, and a large size in stockings is hard to sell."
SPECIAL = ["[STOP]", "[UNK]", "[SPACE]", "[START]", f"[{LANGUAGE}]"]


def learn_vocabulary(path):
    """Letters, pairs of them, and what the public vocabulary has besides."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=SPECIAL, show_progress=False)
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator([SENTENCE, "abcdefghijklmnopqrstuvwxyz"], trainer)
    tokenizer.save(str(path))


class Peer:
    def __init__(self, size, threads):
        self.size, self.threads = size, threads

    def make(self, folder):
        import torch
        from safetensors.torch import save_file
        from TTS.tts.configs.xtts_config import XttsConfig
        from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder
        from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
        from TTS.tts.models.xtts import Xtts, XttsArgs

        torch.manual_seed(0)
        torch.set_num_threads(self.threads)
        folder = Path(folder)
        layers, channels, heads, codes, decoder = SIZES[self.size]
        learn_vocabulary(folder / "vocab.json")
        arguments = XttsArgs(
            tokenizer_file=str(folder / "vocab.json"), gpt_layers=layers, gpt_n_model_channels=channels,
            gpt_n_heads=heads, gpt_num_audio_tokens=codes + 2, gpt_start_audio_token=codes,
            gpt_stop_audio_token=codes + 1, gpt_use_perceiver_resampler=True, decoder_input_dim=channels,
        )
        config = XttsConfig(model_args=arguments, languages=[LANGUAGE])
        model = Xtts(config)
        model.tokenizer = VoiceBpeTokenizer(vocab_file=str(folder / "vocab.json"))
        model.init_models()
        if decoder != 512:
            model.hifigan_decoder = HifiDecoder(
                decoder_input_dim=channels, d_vector_dim=arguments.d_vector_dim,
                upsample_initial_channel_decoder=decoder,
            )
        with torch.no_grad():
            model.gpt.mel_head.bias[arguments.gpt_stop_audio_token] = NEVER
        torch.save({"model": model.state_dict()}, folder / "model.pth")
        config.save_json(str(folder / "config.json"))
        self.tokens = model.tokenizer.encode(SENTENCE, lang=LANGUAGE)
        self.voice = 0.1 * torch.randn(1, 32, channels)
        self.speaker = torch.nn.functional.normalize(torch.randn(1, arguments.d_vector_dim, 1), dim=1)
        save_file({"voice": self.voice, "speaker": self.speaker}, str(folder / "voice.safetensors"))
        self.model = model
        model.hifigan_decoder.eval()
        model.gpt.init_gpt_for_inference(kv_cache=True)
        model.gpt.eval()
        # Given, as they are to the other side.
        model.tokenizer.encode = lambda text, lang: self.tokens
        versions = {name: version(name) for name in ("torch", "coqui-tts", "transformers")}
        return {"tokens": self.tokens, "threads": torch.get_num_threads(), **versions}

    def whole(self, codes):
        self.model.gpt.max_gen_mel_tokens = int(codes)
        start = time.perf_counter()
        said = self.model.inference(
            SENTENCE, LANGUAGE, self.voice, self.speaker, do_sample=False, repetition_penalty=1.0
        )
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "samples": len(said["wav"])}

    def codes(self, codes):
        import torch

        self.model.gpt.max_gen_mel_tokens = int(codes)
        tokens = torch.IntTensor(self.tokens).unsqueeze(0)
        with torch.no_grad():
            made = self.model.gpt.generate(
                cond_latents=self.voice, text_inputs=tokens, do_sample=False, repetition_penalty=1.0
            )
        return {"codes": made[0].tolist()}

    def first(self):
        self.model.gpt.max_gen_mel_tokens = 100
        start = time.perf_counter()
        stream = self.model.inference_stream(
            SENTENCE, LANGUAGE, self.voice, self.speaker, do_sample=False, repetition_penalty=1.0
        )
        samples = len(next(stream))
        seconds = time.perf_counter() - start
        stream.close()
        return {"seconds": seconds, "samples": samples}

    def peak(self):
        unit = 1 if sys.platform == "darwin" else 1024
        return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    peer = Peer(given.size, given.threads)
    requests = {name: getattr(peer, name) for name in ("make", "whole", "codes", "first", "peak")}
    for line in sys.stdin:
        name, *arguments = line.strip().split(" ", 1)
        # Standard output is for answers; the reference writes there as well.
        with contextlib.redirect_stdout(sys.stderr):
            try:
                answer = requests[name](*arguments)
            except Exception as error:  # Whatever it is, the other side should read it.
                answer = {"error": f"{name}: {error!r}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
