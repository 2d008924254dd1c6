//! Prepares a dataset: `prepare FOLDER`. The sample corpus is written to a folder that is not
//! there yet.

use std::io::Write;
use std::path::PathBuf;

use myxtts::{Given, Observer, StopRequest};

/// Shows messages, and nothing else.
struct Messages;

impl Observer for Messages {
    fn line(&self, message: &str) {
        let _ = writeln!(std::io::stdout(), "{message}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder")?);
    if !folder.exists() {
        myxtts::unpack_sample_corpus(&folder)?;
    }
    let settings = Given::default()
        .with("data.train_data", folder.display())
        .load(&myxtts::cpu())?;
    let dataset = myxtts::prepare(&settings, &StopRequest::new(), &Messages)?;
    writeln!(std::io::stdout(), "{}", dataset.folder.display())?;
    Ok(())
}
