"""Makes the recordings of this folder. Needs ffmpeg; the files are committed.

The signal is the one `tests/support` computes again: two voices of 0.4 s, left and right.
"""
import math, struct, subprocess, wave

RATE, LENGTH = 22050, 8820

def left(n): return round(12000 * math.sin(2 * math.pi * 440 * n / RATE))
def right(n): return round(6000 * math.sin(2 * math.pi * 1000 * n / RATE))

for name, voices in (("mono", (left,)), ("stereo", (left, right))):
    with wave.open(f"{name}.wav", "wb") as f:
        f.setnchannels(len(voices)); f.setsampwidth(2); f.setframerate(RATE)
        f.writeframes(b"".join(struct.pack("<h", v(n)) for n in range(LENGTH) for v in voices))
    for args in (["-c:a", "flac", f"{name}.flac"], ["-c:a", "libmp3lame", "-b:a", "64k", f"{name}.mp3"],
                 ["-c:a", "libvorbis", "-q:a", "3", f"{name}.ogg"], ["-c:a", "aac", "-b:a", "64k", f"{name}.m4a"]):
        subprocess.run(["ffmpeg", "-y", "-loglevel", "error", "-i", f"{name}.wav", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact", *args], check=True)
subprocess.run(["ffmpeg", "-y", "-loglevel", "error", "-i", "mono.wav", "-c:a", "libopus", "-fflags", "+bitexact", "opus.ogg"], check=True)
subprocess.run("rm mono.wav stereo.wav", shell=True, check=True)
