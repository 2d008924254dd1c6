//! A mel spectrogram as a picture.

use super::Image;

/// Colours from quiet to loud: near black, blue, magenta, orange, pale yellow.
/// Each is lighter than the one before, so that the picture also reads in grey.
const RAMP: [[f32; 3]; 5] = [
    [6.0, 6.0, 20.0],
    [44.0, 40.0, 140.0],
    [170.0, 50.0, 130.0],
    [245.0, 140.0, 50.0],
    [252.0, 250.0, 190.0],
];

/// The colour of what is not finite, which the ramp does not have.
const NOT_FINITE: [u8; 3] = [0, 255, 0];

/// Draws `mel`, which holds the frames of band 0, then those of band 1, and so
/// on. Low bands are at the bottom. `None` when the sizes do not match.
pub fn mel_image(mel: &[f32], bands: u32, frames: u32) -> Option<Image> {
    let width = usize::try_from(frames).ok().filter(|width| *width > 0)?;
    let finite = || mel.iter().copied().filter(|value| value.is_finite());
    let low = finite().reduce(f32::min).unwrap_or(0.0);
    let high = finite().reduce(f32::max).unwrap_or(0.0);
    let span = if high > low { high - low } else { 1.0 };
    let rows = mel.chunks(width).rev().flatten();
    let pixels = rows.map(|value| colour((value - low) / span)).collect();
    Image::new(frames, bands, pixels)
}

/// Returns the colour of `level`, from 0 for the quietest to 1 for the loudest.
fn colour(level: f32) -> [u8; 3] {
    if !level.is_finite() {
        return NOT_FINITE;
    }
    let position = level.clamp(0.0, 1.0) * (RAMP.len() - 1) as f32;
    let below = position.floor().min((RAMP.len() - 2) as f32);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the last anchor but one"
    )]
    let index = below as usize;
    let (from, to) = (RAMP[index], RAMP[index + 1]);
    let blend = |channel: usize| {
        let value = from[channel] + (to[channel] - from[channel]) * (position - below);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two anchors, which are bytes"
        )]
        let byte = value.round() as u8;
        byte
    };
    [blend(0), blend(1), blend(2)]
}

#[cfg(test)]
mod tests {
    use super::{NOT_FINITE, colour, mel_image};

    #[test]
    fn louder_is_lighter() {
        let weight =
            |[r, g, b]: [u8; 3]| 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b);
        let light: Vec<_> = (0..=100)
            .map(|n| weight(colour(n as f32 / 100.0)))
            .collect();
        assert!(light.is_sorted());
        assert_eq!(colour(0.0), [6, 6, 20]);
        assert_eq!(colour(1.0), [252, 250, 190]);
        assert_eq!(colour(f32::NAN), NOT_FINITE);
    }

    #[test]
    fn low_bands_lie_at_the_bottom() {
        // Two bands, three frames: the low band is quiet, the high one loud.
        let mel = [-5.0, -5.0, -5.0, 2.0, 2.0, f32::INFINITY];
        let image = mel_image(&mel, 2, 3).unwrap();
        let (loud, quiet) = (colour(1.0), colour(0.0));
        let drawn = super::Image::new(3, 2, vec![loud, loud, NOT_FINITE, quiet, quiet, quiet]);
        assert_eq!(Some(image), drawn);
        assert!(mel_image(&mel, 2, 4).is_none());
        assert!(mel_image(&[], 0, 0).is_none());
    }
}
