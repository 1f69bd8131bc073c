//! One synced directory as it is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use domain::problem::Problem;

use crate::complaint::{Complaint, Location};
use crate::manifests::prepare::holds_secrets;
use crate::manifests::{Document, Manifest, Place, walk};

/// A directory that is synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    /// As the command line has it.
    pub shown: PathBuf,
    /// Absolute, without links: its name in the objects that come from it.
    pub path: PathBuf,
}

/// Everything in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub documents: Vec<Document>,
    pub foreign: Vec<Location>,
    /// Files without any document: their names from the directory on, and as people see them.
    pub blank: BTreeMap<String, String>,
    /// What could not be read. While there is any, nothing is known to be gone.
    pub broken: Vec<Complaint>,
    pub warnings: Vec<Complaint>,
}

impl Watched {
    pub(crate) fn new(shown: &Path) -> io::Result<Self> {
        let path = shown.canonicalize()?;
        path.read_dir()?; // also fails for a file
        Ok(Self { shown: shown.to_owned(), path })
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn read(&self) -> Contents {
        let mut contents = Contents::default();
        let files = match walk(&self.path) {
            Ok(tree) => tree.files,
            Err(error) => {
                let location = Location { file: self.shown.display().to_string(), line: 1 };
                contents.broken.push(about(location, Problem::error("unreadable", "", error.to_string())));
                return contents;
            }
        };
        for file in files {
            let place = self.place(&file);
            let manifest = Manifest::read(&file, place.clone());
            if manifest.documents.iter().any(|document| holds_secrets(&document.object))
                && is_world_readable(&file)
            {
                contents.warnings.push(exposed(&place.shown));
            }
            if manifest.documents.is_empty() {
                contents.blank.insert(place.source, place.shown);
            }
            contents.documents.extend(manifest.documents);
            contents.foreign.extend(manifest.foreign);
            contents.broken.extend(manifest.broken);
        }
        contents
    }

    fn place(&self, file: &Path) -> Place {
        let source = file.strip_prefix(&self.path).unwrap_or(file);
        Place {
            shown: self.shown.join(source).display().to_string(),
            source: source.display().to_string(),
            base: file.parent().unwrap_or(&self.path).to_owned(),
        }
    }
}

fn about(location: Location, problem: Problem) -> Complaint {
    Complaint { object: None, location: Some(location), problem }
}

fn is_world_readable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}

fn exposed(file: &str) -> Complaint {
    let problem =
        Problem::warning("exposed", "", "holds a Secret and can be read by everybody on this machine");
    let remedy = format!("chmod o-r {file}, or write ${{env:NAME}} in stringData");
    about(Location { file: file.to_owned(), line: 1 }, problem.help(remedy))
}

/// Directories in the order given, each once.
pub(crate) fn distinct(directories: Vec<Watched>) -> Vec<Watched> {
    let mut seen = BTreeSet::new();
    directories.into_iter().filter(|directory| seen.insert(directory.path.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn names_are_relative_to_the_directory_and_shown_below_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        std::fs::write(root.path().join("sub/a.yaml"), "apiVersion: v1\nkind: A\nmetadata: {name: x}\n")
            .unwrap();
        let watched = Watched { shown: "shown".into(), path: root.path().canonicalize().unwrap() };
        let contents = watched.read();
        let place = &contents.documents[0].place;
        assert_eq!((&*place.shown, &*place.source), ("shown/sub/a.yaml", "sub/a.yaml"));
        assert_eq!(place.base, watched.path.join("sub"));
    }

    #[test]
    fn a_secret_that_everybody_can_read_is_a_warning() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.yaml");
        std::fs::write(&file, "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: b}\n")
            .unwrap();
        let watched = Watched::new(root.path()).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(watched.read().warnings.len(), 1);
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(watched.read().warnings.len(), 0);
    }

    #[test]
    fn a_file_without_documents_is_a_blank_one() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("a.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: x}\n"),
            ("b.yaml", ""),
            ("c.yaml", "# nothing\n---\n"),
            ("d.yaml", "apiVersion: v1\n"),
        ] {
            std::fs::write(root.path().join(file), text).unwrap();
        }
        let blank = Watched::new(root.path()).unwrap().read().blank;
        assert_eq!(blank.keys().collect::<Vec<_>>(), ["b.yaml", "c.yaml", "d.yaml"]);
    }

    #[test]
    fn a_directory_that_is_gone_is_not_an_empty_one() {
        let root = tempfile::tempdir().unwrap();
        let watched = Watched::new(root.path()).unwrap();
        assert!(watched.read().broken.is_empty());
        drop(root);
        assert_eq!(watched.read().broken.len(), 1);
        assert!(Watched::new(Path::new("/does/not/exist")).is_err());
    }

    #[test]
    fn a_directory_is_synced_once() {
        let one = Watched { shown: "a".into(), path: "/a".into() };
        let two = Watched { shown: "./a".into(), path: "/a".into() };
        assert_eq!(distinct(vec![one.clone(), two]), [one]);
    }
}
