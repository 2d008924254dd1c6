"""Whether the MP3 and Opus of `myxtts serve` are the speech they were made of, judged by other people's decoders.

    python benchmarks/speech_formats.py MYXTTS WEIGHTS

Asks a server for the same speech as WAV, MP3 and Opus, whole and streamed, in each of its voices. FFmpeg decodes the last two
(and `opusdec`, where there is one, the Opus), and may not complain. What comes out is compared with the WAV: how far the sound
is shifted, how its length differs, the signal-to-noise ratio, and wide-band PESQ. FFmpeg's LAME and libopus encode the same WAV at the same
rates, for comparison, and LAME at 24,000 Hz, which FFmpeg reads otherwise than mpg123 (inside libsndfile) does. Needs ffmpeg, and
numpy, scipy, soundfile and pesq in the Python environment; prints a table.
"""

import io
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import numpy
import soundfile
from pesq import pesq
from scipy.io import wavfile
from scipy.signal import resample_poly

TEXTS = [
    "The sun rises over the river.",
    "Hello there. The old man walks home in the rain.",
    "Seven small boats are on the water, and nobody knows why.",
]
RATE = 16000  # of wide-band PESQ
SHIFTS = RATE // 10


def decoded(data, name, program="ffmpeg"):
    """Samples at RATE, from bytes, by another program."""
    if program == "mpg123":
        samples, rate = soundfile.read(io.BytesIO(data))
        return at_rate(samples, rate), len(samples) / rate
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, name), Path(folder, "decoded.wav")
        source.write_bytes(data)
        if program == "opusdec":
            command = ["opusdec", "--quiet", "--rate", "48000", str(source), str(target)]
        else:
            command = ["ffmpeg", "-v", "error", "-xerror", "-i", str(source), "-c:a", "pcm_s16le", str(target)]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0 and not run.stderr.strip(), f"{name}: {run.stderr}"
        rate, samples = wavfile.read(target)
    assert samples.ndim == 1, samples.shape
    return at_rate(samples / 32768.0, rate), len(samples) / rate


def at_rate(samples, rate):
    divisor = numpy.gcd(rate, RATE)
    return resample_poly(samples, RATE // divisor, rate // divisor)


def encoded(wav, arguments, name):
    """By FFmpeg's encoders."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source.wav"), Path(folder, name)
        source.write_bytes(wav)
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(source), *arguments, str(target)], check=True)
        return target.read_bytes()


def compared(original, copy):
    """Shift in milliseconds, signal-to-noise ratio in decibels, PESQ."""
    size = 1 << (len(original) + len(copy)).bit_length()
    spectrum = numpy.fft.rfft(copy, size) * numpy.conj(numpy.fft.rfft(original, size))
    correlation = numpy.fft.irfft(spectrum, size)
    shifts = numpy.arange(-SHIFTS, SHIFTS)
    shift = int(shifts[numpy.argmax(correlation[shifts])])
    a, b = original[max(0, -shift) :], copy[max(0, shift) :]
    length = min(len(a), len(b))
    a, b = a[:length], b[:length]
    snr = 10 * numpy.log10((a**2).sum() / ((a - b) ** 2).sum())
    return 1000 * shift / RATE, snr, pesq(RATE, a, b, "wb")


class Server:
    def __init__(self, program, weights):
        command = [program, "serve", "--json", "--port", "0", "--checkpoint", weights, "--set", "training.backend=cpu"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        text = ""
        while True:
            line = self.process.stdout.readline()
            assert line, f"the server did not start: {text}"
            text += line
            try:
                self.started = json.loads(text)
                return
            except json.JSONDecodeError:
                continue

    def speech(self, **fields):
        fields.setdefault("language", self.started["languages"][0])
        request = urllib.request.Request(
            self.started["url"] + "/v1/audio/speech",
            json.dumps(fields).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            return response.read()


def main(program, weights):
    server = Server(program, weights)
    rows = {}
    try:
        for voice in server.started["voices"]:
            for text in TEXTS:
                ask = dict(input=text, voice=voice, seed=1)
                wav = server.speech(response_format="wav", **ask)
                original, length = decoded(wav, "source.wav")

                def add(kind, data, name, decoder="ffmpeg"):
                    copy, found = decoded(data, name, decoder)
                    figures = (*compared(original, copy), 1000 * (found - length), 8 * len(data) / length / 1000)
                    rows.setdefault(kind, []).append(figures)

                for form in ("mp3", "opus"):
                    for stream in (False, True):
                        data = server.speech(response_format=form, stream=stream, **ask)
                        kind = f"{form}, {'streamed' if stream else 'whole'}"
                        add(kind, data, f"ours.{form}")
                        if form == "opus" and shutil.which("opusdec"):
                            add(kind + ", by opusdec", data, "ours.opus", "opusdec")
                lame = ["-c:a", "libmp3lame", "-b:a", "96k"]
                add("LAME, 96 kbit/s", encoded(wav, lame, "lame.mp3"), "lame.mp3")
                at_24_khz = encoded(wav, [*lame, "-ar", "24000"], "lame.mp3")
                add("LAME at 24,000 Hz", at_24_khz, "lame.mp3")
                add("LAME at 24,000 Hz, by mpg123", at_24_khz, "lame.mp3", "mpg123")
                add("libopus, 48 kbit/s", encoded(wav, ["-c:a", "libopus", "-b:a", "48k"], "lib.opus"), "lib.opus")
    finally:
        server.process.terminate()
        server.process.wait(timeout=60)
    count = len(next(iter(rows.values())))
    print(f"{count} texts in {len(server.started['voices'])} voices; least and median of each\n")
    print("| | PESQ | SNR, dB | shift, ms | longer by, ms | kbit/s |")
    print("|---|---|---|---|---|---|")
    for kind, figures in rows.items():
        shift, snr, score, longer, bits = (numpy.array(column) for column in zip(*figures))
        least = lambda values: f"{values.min():.2f}, {numpy.median(values):.2f}"
        spread = lambda values: f"{values.min():.0f} to {values.max():.0f}"
        print(f"| {kind} | {least(score)} | {least(snr)} | {spread(shift)} | {spread(longer)} | {numpy.median(bits):.0f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
