//! What stands in for a container image where no container engine runs: the host, a directory of scripts, or an
//! unpacked image, as mappings `REF=host`, `REF=scripts:DIR` and `REF=rootfs:DIR` say.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};

/// The image that needs no mapping: the host's programs.
pub const HOST: &str = "host";
/// An unpacked image's own command; a script directory has a file of the same name.
const ENTRYPOINT: &str = "entrypoint";

/// What a container runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resolved {
    /// The host's programs. Has no entrypoint.
    Host,
    /// The host's programs, with this directory in front of `PATH`. Its entrypoint is the file `entrypoint` in it.
    Scripts(PathBuf),
    /// The files of an unpacked image, read-only. Its entrypoint is `/entrypoint`; the configuration of the image
    /// (entrypoint, variables, user) is not part of its files.
    Rootfs(PathBuf),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("image mapping `{mapping}`: expected REF=scripts:DIR, REF=rootfs:DIR or REF=host")]
    Syntax { mapping: String },
    #[error("image mapping `{mapping}`: {why}")]
    Pattern { mapping: String, why: String },
    #[error("image mapping `{mapping}`: {} is not a directory", directory.display())]
    Directory { mapping: String, directory: PathBuf },
    #[error(
        "image {image}: the process runner pulls no images; say what stands in for it with \
         `--image {image}=scripts:DIR` (programs of the host), `--image {image}=rootfs:DIR` (an unpacked image), or \
         `--image {image}=host`"
    )]
    NoMapping { image: String },
    #[error("container {container}: the host has no entrypoint; the container needs a `command`")]
    NoCommand { container: String },
}

/// All mappings. A REF is a glob over the whole image reference, in which `*` also matches `/`.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// The one that wins comes first.
    mappings: Vec<(GlobMatcher, Resolved)>,
}

impl Images {
    /// Of several that match an image, the one with the longest REF wins, and of equally long ones the later.
    ///
    /// Relative directories are taken from the working directory, and every directory must exist.
    pub fn parse(mappings: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, Error> {
        let mut mappings =
            mappings.into_iter().map(|text| parse(text.as_ref())).collect::<Result<Vec<_>, _>>()?;
        mappings.reverse();
        mappings.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.glob().glob().len()));
        Ok(Self { mappings })
    }

    /// The literal image `host` is the host, whatever is mapped.
    pub fn resolve(&self, image: &str) -> Result<Resolved, Error> {
        if image == HOST {
            return Ok(Resolved::Host);
        }
        let mapping = self.mappings.iter().find(|(pattern, _)| pattern.is_match(image));
        mapping.map(|(_, resolved)| resolved.clone()).ok_or_else(|| Error::NoMapping { image: image.into() })
    }
}

fn parse(mapping: &str) -> Result<(GlobMatcher, Resolved), Error> {
    let syntax = || Error::Syntax { mapping: mapping.into() };
    let (reference, target) =
        mapping.split_once('=').filter(|(reference, _)| !reference.is_empty()).ok_or_else(syntax)?;
    let pattern = Glob::new(reference)
        .map_err(|e| Error::Pattern { mapping: mapping.into(), why: e.to_string() })?
        .compile_matcher();
    let directory = |path: &str| match std::path::absolute(path) {
        Ok(path) if path.is_dir() => Ok(path),
        _ => Err(Error::Directory { mapping: mapping.into(), directory: path.into() }),
    };
    let resolved = match target.split_once(':') {
        None if target == HOST => Resolved::Host,
        Some(("scripts", path)) => Resolved::Scripts(directory(path)?),
        Some(("rootfs", path)) => Resolved::Rootfs(directory(path)?),
        None | Some(_) => return Err(syntax()),
    };
    Ok((pattern, resolved))
}

impl Resolved {
    /// Program and arguments of a container, as Kubernetes takes them from `command` and `args`. `scripts` is where
    /// the container sees its script directory, if it has one.
    pub fn command_line(
        &self,
        container: &str,
        command: &[String],
        args: &[String],
        scripts: Option<&Path>,
    ) -> Result<Vec<String>, Error> {
        let entrypoint = match (self, scripts) {
            _ if !command.is_empty() => return Ok([command, args].concat()),
            (Self::Rootfs(_), _) => Path::new("/").join(ENTRYPOINT),
            (Self::Scripts(_), Some(scripts)) => scripts.join(ENTRYPOINT),
            (Self::Scripts(directory), None) => directory.join(ENTRYPOINT),
            (Self::Host, _) => return Err(Error::NoCommand { container: container.into() }),
        };
        Ok([&[entrypoint.display().to_string()], args].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(path: &str) -> Resolved {
        Resolved::Scripts(path.into())
    }

    #[test]
    fn the_longest_pattern_wins_and_then_the_later() {
        let images = Images::parse([
            "ghcr.io/acme/*=scripts:/usr",
            "*=host",
            "ghcr.io/acme/redis:*=rootfs:/etc",
            "ghcr.io/acme/?=scripts:/etc",
            "ghcr.io/acme/x=scripts:/usr",
            "ghcr.io/acme/x=scripts:/etc",
        ])
        .unwrap();
        for (image, expected) in [
            ("ghcr.io/acme/redis:v1", Resolved::Rootfs("/etc".into())),
            ("ghcr.io/acme/redis@sha256:00", scripts("/usr")),
            ("ghcr.io/acme/deep/er:1", scripts("/usr")),
            ("ghcr.io/acme/x", scripts("/etc")),
            ("busybox", Resolved::Host),
        ] {
            assert_eq!(images.resolve(image), Ok(expected), "{image}");
        }
    }

    #[test]
    fn the_host_needs_no_mapping_and_another_image_does() {
        let images = Images::parse(["*x=scripts:/usr"]).unwrap();
        assert_eq!(images.resolve("host"), Ok(Resolved::Host));
        assert_eq!(Images::parse(["*=scripts:/usr"]).unwrap().resolve("host"), Ok(Resolved::Host));
        let error = images.resolve("busybox:1").unwrap_err().to_string();
        assert!(error.contains("--image busybox:1=scripts:DIR"), "{error}");
    }

    #[test]
    fn relative_directories_become_absolute() {
        let Resolved::Scripts(path) = Images::parse(["a=scripts:."]).unwrap().resolve("a").unwrap() else {
            panic!("not a script directory")
        };
        assert_eq!(path, std::env::current_dir().unwrap());
    }

    #[test]
    fn bad_mappings_are_named() {
        for mapping in ["a", "a=", "=host", "a=scripts", "a=docker:x", "a=host:", "a=/usr"] {
            assert_eq!(Images::parse([mapping]).unwrap_err(), Error::Syntax { mapping: mapping.into() });
        }
        for mapping in ["a=scripts:/does/not/exist", "a=rootfs:/etc/passwd", "a=rootfs:", "[=host"] {
            let error = Images::parse([mapping]).unwrap_err();
            assert!(matches!(error, Error::Directory { .. } | Error::Pattern { .. }), "{error}");
            assert!(error.to_string().contains(mapping), "{error}");
        }
    }

    #[test]
    fn a_command_replaces_the_entrypoint() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let line = |resolved: &Resolved, command: &[&str]| {
            resolved.command_line("one", &words(command), &words(&["-v"]), Some(Path::new("/s")))
        };
        assert_eq!(line(&Resolved::Host, &["sh", "-c"]), Ok(words(&["sh", "-c", "-v"])));
        assert_eq!(line(&scripts("/x"), &[]), Ok(words(&["/s/entrypoint", "-v"])));
        assert_eq!(line(&Resolved::Rootfs("/x".into()), &[]), Ok(words(&["/entrypoint", "-v"])));
        assert_eq!(line(&Resolved::Host, &[]), Err(Error::NoCommand { container: "one".into() }));
    }
}
