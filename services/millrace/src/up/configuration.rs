//! `millrace.yaml` of a synced directory.

use std::path::Path;

use serde::Deserialize;

use crate::failure::Failure;
use crate::manifests::CONFIGURATION;

/// What directories may say about the `up` that serves them. A flag wins over it; of several directories, the first
/// that says something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Configuration {
    /// As `--image`; directories are relative to the file.
    pub images: Vec<String>,
    /// As `--log`.
    pub log: Option<String>,
    /// As `--slots`.
    pub slots: Option<usize>,
}

impl Configuration {
    pub(crate) fn of<'a>(directories: impl Iterator<Item = &'a Path>) -> Result<Self, Failure> {
        let mut merged = Self::default();
        for directory in directories {
            let file = directory.join(CONFIGURATION);
            let text = match std::fs::read_to_string(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Failure::File { file, source }),
            };
            let one =
                Self::parse(&text, directory).map_err(|message| Failure::Configuration { file, message })?;
            merged.images.extend(one.images);
            merged.log = merged.log.or(one.log);
            merged.slots = merged.slots.or(one.slots);
        }
        Ok(merged)
    }

    fn parse(text: &str, base: &Path) -> Result<Self, String> {
        let options = serde_saphyr::options! { with_snippet: false };
        let read: Option<Self> =
            serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
        let mut configuration = read.unwrap_or_default();
        if configuration.slots == Some(0) {
            return Err("slots: at least one is needed".into());
        }
        configuration.images = configuration.images.iter().map(|mapping| absolute(mapping, base)).collect();
        Ok(configuration)
    }
}

/// `REF=scripts:DIR` with DIR below `base`.
fn absolute(mapping: &str, base: &Path) -> String {
    let parts = mapping.split_once('=').and_then(|(image, target)| Some((image, target.split_once(':')?)));
    match parts {
        Some((image, (kind, directory))) => format!("{image}={kind}:{}", base.join(directory).display()),
        None => mapping.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_relative_to_the_file() {
        let text = "images:\n  - ghcr.io/acme/*=scripts:./scripts\n  - busybox=host\n  - x=rootfs:/srv/x\nslots: 3\n";
        let configuration = Configuration::parse(text, Path::new("/d")).unwrap();
        assert_eq!(
            configuration.images,
            ["ghcr.io/acme/*=scripts:/d/./scripts", "busybox=host", "x=rootfs:/srv/x"]
        );
        assert_eq!(configuration.slots, Some(3));
    }

    #[test]
    fn an_empty_file_says_nothing_and_a_wrong_one_is_refused() {
        for empty in ["", "# nothing\n", "{}\n"] {
            assert_eq!(
                Configuration::parse(empty, Path::new("/")),
                Ok(Configuration::default()),
                "{empty:?}"
            );
        }
        for wrong in ["slots: 0", "imagess: []", "slots: many", "images: {a: b}", "["] {
            assert!(Configuration::parse(wrong, Path::new("/")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_directory_that_says_something_wins() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(one.path().join(CONFIGURATION), "images: [a=host]\n").unwrap();
        std::fs::write(two.path().join(CONFIGURATION), "images: [b=host]\nlog: debug\n").unwrap();
        let merged = Configuration::of([one.path(), two.path(), Path::new("/none")].into_iter()).unwrap();
        assert_eq!(merged.images, ["a=host", "b=host"]);
        assert_eq!(merged.log.as_deref(), Some("debug"));
    }
}
