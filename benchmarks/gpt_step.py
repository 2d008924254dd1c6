"""The peer of `crates/myxtts-bench/examples/step.rs`: the same training step in PyTorch.

Needs coqui-tts 0.27.2 and torch. Usage: gpt_step.py LAYERS CHANNELS HEADS BATCH; one step for
every line on standard input, its figures as a line of JSON.
"""
import json
import os
import resource
import sys
import time

# Waiting threads that spin would be counted as work.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from TTS.tts.layers.xtts.gpt import GPT

# After the import, which sets one thread.
torch.set_num_threads(2)

TEXT, CODES, FRAMES = 200, 200, 517


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(layers, channels, heads, rows):
    torch.manual_seed(0)
    model = GPT(
        start_text_token=261, stop_text_token=0, layers=layers, model_dim=channels, heads=heads,
        max_text_tokens=402, max_mel_tokens=605, max_prompt_tokens=70, number_text_tokens=6681,
        num_audio_tokens=1026, start_audio_token=1024, stop_audio_token=1025,
        use_perceiver_resampler=True, code_stride_len=1024,
    ).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.96), eps=1e-8, weight_decay=1e-2
    )
    text = torch.randint(2, 260, (rows, TEXT))
    codes = torch.randint(0, 1024, (rows, CODES))
    text_lengths = torch.full((rows,), TEXT)
    wave_lengths = torch.full((rows,), CODES * 1024)
    mel = torch.randn(rows, 1, 80, FRAMES)
    for _ in sys.stdin:
        cpu, start = cpu_seconds(), time.perf_counter()
        # The model writes into its inputs.
        text_loss, code_loss, _ = model(
            text.clone(), text_lengths, codes.clone(), wave_lengths, cond_mels=mel
        )
        loss = 0.01 * text_loss + code_loss
        forward = time.perf_counter()
        loss.backward()
        backward = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        end = time.perf_counter()
        figures = {
            "step_s": end - start,
            "forward_s": forward - start,
            "backward_s": backward - forward,
            "optimizer_s": end - backward,
            "cpu_s": cpu_seconds() - cpu,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "loss": loss.item(),
        }
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
