//! How pipelines and tests talk: pipes in the script directory, which pipelines see as `/kratix-scripts`.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::LIMIT;

/// What a test's pipelines source first.
const LIBRARY: &str = r#"
who="$KRATIX_OBJECT_NAMESPACE/$KRATIX_OBJECT_NAME"
say() { echo "$1 $who $KRATIX_PIPELINE_NAME" > /kratix-scripts/events; }
gate() { read -r _ < "/kratix-scripts/gate-$1"; }
out() { mkdir -p "/kratix/output/$(dirname "$1")"; printf '%s\n' "$2" > "/kratix/output/$1"; }
status() { printf '%s\n' "$1" >> /kratix/metadata/status.yaml; }
selectors() { printf '%s\n' "$1" > /kratix/metadata/destination-selectors.yaml; }
"#;

/// The reading side. Pipelines say `start` and `end`, and wait at gates.
#[derive(Debug)]
pub struct Signals {
    directory: PathBuf,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    lines: Mutex<(VecDeque<String>, Vec<String>)>,
    more: Condvar,
}

impl Signals {
    pub fn new(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        fs::set_permissions(directory, Permissions::from_mode(0o755))?;
        fs::write(directory.join("lib.sh"), LIBRARY)?;
        pipe(&directory.join("events"))?;
        // Opened for writing too, so that it never ends when the last pipeline closes it.
        let events = OpenOptions::new().read(true).write(true).open(directory.join("events"))?;
        let heard = Arc::new(Heard::default());
        let listener = heard.clone();
        std::thread::spawn(move || listen(events, &listener));
        Ok(Self { directory: directory.to_owned(), heard })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes a gate that pipelines can wait at.
    pub fn gate(&self, name: &str) -> Result<()> {
        pipe(&self.directory.join(format!("gate-{name}")))
    }

    /// Lets one pipeline through that waits at the gate; waits for it to come.
    pub fn open(&self, name: &str) -> Result<()> {
        let mut gate = OpenOptions::new().write(true).open(self.directory.join(format!("gate-{name}")))?;
        Ok(gate.write_all(b"go\n")?)
    }

    /// Takes the gate away: whoever comes from now on finds it open.
    pub fn remove(&self, name: &str) -> Result<()> {
        let path = self.directory.join(format!("gate-{name}"));
        fs::remove_file(&path)?;
        fs::write(&path, "go\n")?;
        fs::set_permissions(path, Permissions::from_mode(0o644))?;
        Ok(())
    }

    /// The next line that was said; waits for it.
    pub fn next(&self) -> Result<String> {
        let guard = self.heard.lines.lock().map_err(|_| anyhow::anyhow!("the listener has failed"))?;
        let (mut guard, timeout) = self
            .heard
            .more
            .wait_timeout_while(guard, LIMIT, |lines| lines.0.is_empty())
            .map_err(|_| anyhow::anyhow!("the listener has failed"))?;
        if timeout.timed_out() {
            bail!("no pipeline said anything for {LIMIT:?}; before: {:?}", guard.1);
        }
        guard.0.pop_front().context("a line")
    }

    /// Waits until exactly this is said, and it must be the next thing.
    #[track_caller]
    pub fn expect(&self, line: &str) -> Result<()> {
        let next = self.next()?;
        if next != line {
            bail!("expected `{line}`, but `{next}` was said; before: {:?}", self.all());
        }
        Ok(())
    }

    /// Everything said so far.
    pub fn all(&self) -> Vec<String> {
        self.heard.lines.lock().map(|lines| lines.1.clone()).unwrap_or_default()
    }
}

fn pipe(path: &Path) -> Result<()> {
    mknodat(CWD, path, FileType::Fifo, Mode::from(0o666), 0)
        .with_context(|| format!("pipe {}", path.display()))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o666))?)
}

fn listen(events: File, heard: &Heard) {
    for line in BufReader::new(events).lines() {
        let (Ok(line), Ok(mut lines)) = (line, heard.lines.lock()) else { return };
        lines.0.push_back(line.clone());
        lines.1.push(line);
        heard.more.notify_all();
    }
}
