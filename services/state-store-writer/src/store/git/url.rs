//! Where a repository is: the address of a store, taken apart.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A repository that pushes go to. Each variant is one transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remote {
    /// `file:///absolute/path`, or `file://localhost/absolute/path`.
    File(PathBuf),
}

/// Why a text is no address of a repository.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("{0:?} is no address: expected file:///absolute/path")]
    NoScheme(String),
    #[error("{url:?}: addresses of the kind {scheme}: are not supported")]
    Scheme { url: String, scheme: String },
    #[error("{0:?}: expected an absolute path, as in file:///absolute/path")]
    Relative(String),
    #[error("{0:?} holds a NUL")]
    Nul(String),
}

impl Remote {
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let (scheme, rest) = url.split_once(':').ok_or_else(|| Error::NoScheme(url.to_owned()))?;
        if !scheme.eq_ignore_ascii_case("file") {
            return Err(Error::Scheme { url: url.to_owned(), scheme: scheme.to_owned() });
        }
        let path = rest.strip_prefix("//").unwrap_or(rest);
        let path = path.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(path);
        if !path.starts_with('/') {
            return Err(Error::Relative(url.to_owned()));
        }
        let path = decode(path);
        if path.contains(&0) {
            return Err(Error::Nul(url.to_owned()));
        }
        Ok(Self::File(PathBuf::from(OsString::from_vec(path))))
    }

    /// What git takes as the repository: for a local one the path itself, which needs no encoding.
    pub(super) fn argument(&self) -> &OsStr {
        match self {
            Self::File(path) => path.as_os_str(),
        }
    }

    /// The one transport that git may use, as in `protocol.<name>.allow`.
    pub(super) fn protocol(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
        }
    }
}

/// `%41` is `A`; a `%` without two digits behind it stands for itself, as git reads it.
fn decode(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = tail.get(..2).filter(|_| first == b'%').and_then(hexadecimal);
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    bytes
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let [high, low] = digits else { return None };
    u8::try_from(value(high)? * 16 + value(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn path(url: &str, expected: &str) {
        assert_eq!(Remote::parse(url), Ok(Remote::File(expected.into())));
    }

    #[test]
    fn files() {
        path("file:///srv/state.git", "/srv/state.git");
        path("FILE:/srv/state", "/srv/state");
        path("file://localhost/srv/state", "/srv/state");
        path("file:///with%20space/100%/%zz/%C3%BC", "/with space/100%/%zz/\u{fc}");
    }

    #[test]
    fn what_is_no_absolute_file_address_is_refused() {
        let text = |url: &str| Remote::parse(url).expect_err(url).to_string();
        assert!(text("/srv/state").contains("is no address"));
        assert!(text("https://example.com/state").contains("kind https:"));
        assert!(text("git@example.com:state").contains("not supported"));
        for url in ["file:state", "file:./state", "file://host/state", "file:", "file://localhosts/x"] {
            assert!(text(url).contains("absolute path"), "{url}");
        }
        assert!(text("file:///a%00b").contains("NUL"));
    }
}
