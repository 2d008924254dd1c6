//! The DVAE against the reference implementation's own numbers.

use burn::tensor::{Device, Tensor};
use myxtts_audio::MelSpec;
use myxtts_model::dvae::{Dvae, DvaeConfig, MovingAverage, Reconstruction};
use myxtts_model::init::Init;
use myxtts_model::mel::DeviceMel;
use myxtts_model::params;

use super::Cases;
use crate::fixtures::{ACTIVATION, GRADIENT, Part, Set, gradients, norm, scalar, values, whole};

pub fn config(set: &Set) -> DvaeConfig {
    let size = |key: &str| set.size(&format!("/dvae/config/{key}"));
    DvaeConfig {
        channels: size("channels"),
        hidden: size("hidden_dim"),
        layers: size("num_layers"),
        resnet_blocks: size("num_resnet_blocks"),
        kernel: size("kernel_size"),
        codes: size("num_tokens"),
        codebook_dim: size("codebook_dim"),
    }
}

pub fn dvae(set: &Set, device: &Device) -> Dvae {
    let new = Dvae::new(&Init::new(0, device), &config(set)).unwrap();
    params::load(new, &set.tensors("weights_dvae").0, "").unwrap()
}

/// Codes are the reference's. Where two entries of the codebook are equally near
/// within the tolerance of activations, rounding decides, and either will do.
fn same_codes(set: &Set, dvae: &Dvae, mel: &Tensor<3>, ours: &[i64], reference: &[i64]) {
    assert_eq!(ours.len(), reference.len(), "{}: codes", set.name());
    let vectors_bdt = dvae.vectors(mel.clone());
    let [_, dims, times] = vectors_bdt.dims();
    let (vectors, entries) = (values(vectors_bdt), values(dvae.codebook.embed.val()));
    let count = entries.len() / dims;
    let distance = |position: usize, code: i64| -> f64 {
        let (row, time) = (position / times, position % times);
        (0..dims)
            .map(|dim| {
                let vector = vectors[(row * dims + dim) * times + time];
                f64::from(vector - entries[dim * count + code as usize]).powi(2)
            })
            .sum()
    };
    for (position, (&ours, &reference)) in ours.iter().zip(reference).enumerate() {
        if ours != reference {
            let [near, theirs] = [ours, reference].map(|code| distance(position, code));
            set.scalar(&format!("code {position}"), near, theirs, ACTIVATION);
        }
    }
}

pub fn encodes_and_decodes(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let file = set.tensors("fx_dvae");
        let dvae = dvae(&set, &device);
        let mel = || file.on("mel", &device);
        let z = values(dvae.vectors(mel()));
        set.relative("z_enc", &z, &file.values("z_enc"), ACTIVATION);
        let codes = dvae.encode(mel());
        let reference = file.data("codes").try_to_vec::<i64>().unwrap();
        same_codes(&set, &dvae, &mel(), &whole(codes), &reference);
        let decoded = values(dvae.decode(file.ints_on("codes", &device)));
        set.relative(
            "decoded_mel",
            &decoded,
            &file.values("decoded_mel"),
            ACTIVATION,
        );
    }
}

/// The reference encodes the mel of a zero-padded batch; so do we, from the wave on.
pub fn padded_waves_have_the_codes_of_the_padded_wave(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let (mel, gpt) = (set.tensors("fx_mel"), set.tensors("fx_gpt"));
        let lengths = gpt.data("wav_lengths").try_to_vec::<i64>().unwrap();
        let longest = *lengths.iter().max().unwrap() as usize;
        let source = mel.values("wav_22k");
        let waves: Vec<f32> = lengths
            .iter()
            .enumerate()
            .flat_map(|(row, &length)| {
                let scaled = source.iter().take(length as usize);
                let scaled = scaled.map(move |x| x * (0.5 + 0.2 * row as f32));
                scaled.chain(std::iter::repeat(0.0)).take(longest)
            })
            .collect();
        let waves = burn::tensor::TensorData::new(waves, [lengths.len(), longest]);
        let front_end =
            DeviceMel::new(MelSpec::DVAE, Some(&mel.values("mel_norms")), &device).unwrap();
        let mels = front_end
            .forward(Tensor::from_data(waves, &device))
            .unwrap();
        let dvae = dvae(&set, &device);
        let codes = whole(dvae.encode(mels.clone()));
        let reference = gpt.data("audio_codes").try_to_vec::<i64>().unwrap();
        same_codes(&set, &dvae, &mels, &codes, &reference);
    }
}

pub fn training_step_gradients_and_codebook(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let device = device.autodiff();
        let file = set.tensors("fx_dvae");
        let dvae = dvae(&set, &device);
        let mel = file.on::<3>("mel", &device);
        let mel = mel.narrow(2, 0, set.size("/dvae/train_T"));
        let step = dvae.step(mel, Reconstruction::Mse).unwrap();
        let output = values(step.output_bct.clone().inner());
        set.relative("train_out", &output, &file.values("train_out"), ACTIVATION);
        let reconstruction = step.reconstruction_bct.clone().mean();
        let loss = reconstruction.clone() + step.commitment.clone() * 0.25;
        for (name, ours) in [
            ("recon_loss_mean", reconstruction),
            ("commitment_loss", step.commitment.clone()),
            ("loss_recon_plus_quarter_commit", loss.clone()),
        ] {
            let reference = set.number(&format!("/dvae/{name}"));
            set.scalar(name, scalar(ours), reference, ACTIVATION);
        }
        let found = gradients(&dvae, &loss.backward());
        let norms = set.manifest["dvae"]["grad_norms"].as_object().unwrap();
        let mut names: Vec<&String> = norms.keys().collect();
        names.sort();
        assert!(found.keys().eq(names), "{:?}", found.keys());
        for (name, reference) in norms {
            let reference = reference.as_f64().unwrap();
            set.scalar(
                &format!("|grad {name}|"),
                norm(&found[name]),
                reference,
                GRADIENT,
            );
        }
        for name in file.0.keys().filter(|name| name.starts_with("grad.")) {
            let ours = &found[name.strip_prefix("grad.").unwrap()];
            set.relative(name, ours, &file.values(name), GRADIENT);
        }
        let book = dvae
            .with_moved_codebook(&step, MovingAverage::default())
            .codebook;
        for (name, ours) in [
            ("ema.embed_after", values(book.embed.val())),
            ("ema.cluster_size_after", values(book.cluster_size.val())),
            ("ema.embed_avg_after", values(book.embed_avg.val())),
        ] {
            set.relative(name, &ours, &file.values(name), ACTIVATION);
        }
    }
}
