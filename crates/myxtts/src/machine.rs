//! The machine that work is planned for: what it has, and what its devices report about
//! themselves.

use std::io;
use std::path::{Path, PathBuf};

use myxtts_device::discover as backends;
use myxtts_device::discover::ProbeAnswer;
use myxtts_device::discover::guard::Guard;
use myxtts_device::{SOFTWARE_GPUS_VARIABLE, SoftwareGpus};

pub use myxtts_config::units::Megabytes;
pub use myxtts_device::telemetry::{Readings, SystemTelemetry, Telemetry};
pub use myxtts_device::{Backend, Gpu, Machine, Reading};

use crate::error::Error;

/// Returns this machine without its GPUs: whatever is planned for it runs on the CPU.
pub fn cpu() -> Machine {
    Machine {
        host: backends::host(),
        backends: vec![],
    }
}

/// Lists the devices of this machine.
///
/// Drivers crash and hang in ways that no program survives, so each backend is asked in a process
/// of its own: `program probe-backend NAME`, which must print the answer of [`probe`] on its
/// standard output. The program `myxtts` does so; name it here, or have a program of your own
/// answer and name [`std::env::current_exe`].
///
/// # Errors
/// When the variable `MYXTTS_SOFTWARE_GPUS` has no meaning. A backend that does not answer is not
/// an error: the machine says why it has no devices.
pub fn discover(program: impl Into<PathBuf>) -> Result<Machine, Error> {
    let guard = Guard::new(program.into(), &["probe-backend"]);
    discover_through(move |backend| guard.probe(backend))
}

/// Lists the devices of this machine through this very program, which must answer as [`discover`]
/// says.
///
/// # Errors
/// As [`discover`]. A program that cannot be found is not an error either.
pub fn this_machine() -> Result<Machine, Error> {
    match own_program() {
        Ok(program) => discover(program),
        Err(why) => discover_through(move |_| ProbeAnswer {
            gpus: vec![],
            unavailable: Some(format!("the probe could not be started: {why}")),
        }),
    }
}

/// Returns the running program, to be started again. Where it was replaced on disk since it began,
/// as by a build, Linux still reaches the file that runs.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let running = Path::new("/proc/self/exe");
    match !program.exists() && running.exists() {
        true => Ok(running.to_owned()),
        false => Ok(program),
    }
}

/// Returns this machine with imaginary GPUs of these sizes in place of its own.
pub fn imagined(memory: &[Megabytes]) -> Machine {
    Machine::assume_each(backends::host(), memory)
}

/// Returns this machine for questions that no GPU matters to.
pub(crate) fn without_gpus() -> Machine {
    Machine::assume(backends::host(), 0, Megabytes(0))
}

/// Lists the devices that `probe` names for each backend.
fn discover_through(probe: impl Fn(Backend) -> ProbeAnswer) -> Result<Machine, Error> {
    let variable = std::env::var_os(SOFTWARE_GPUS_VARIABLE);
    let value = variable.as_ref().map(|value| value.to_string_lossy());
    let software = SoftwareGpus::from_value(value.as_deref()).map_err(Error::refused)?;
    Ok(backends::discover(software, probe))
}

/// Returns the devices of the backend called `name`; `None` if there is no GPU backend of that
/// name. A program that answers for [`discover`] prints this as JSON, and does nothing else in
/// that process.
pub fn probe(name: &str) -> Option<ProbeAnswer> {
    let mut known = Backend::GPU.into_iter();
    let backend = known.find(|backend| backend.name() == name)?;
    Some(backends::probe(backend))
}
