//! Files of manifests: found, read into documents, made ready to be sent.

pub(crate) mod prepare;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::digest::Digest;
use domain::id::ObjectKey;
use domain::problem::Problem;
use inflation::{Content, Lines, documents};
use resources::Object;

use crate::complaint::{Complaint, Location, Subject};
use crate::failure::Failure;
use crate::kinds::{DEFAULT_NAMESPACE, Kind};

/// In a synced directory: configuration of `up`.
pub(crate) const CONFIGURATION: &str = "millrace.yaml";
/// Name of standard input where a file can be given.
pub(crate) const STDIN: &str = "-";

/// An object as a file has it.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub object: Object,
    pub place: Arc<Place>,
    /// Of the object as written: equal for documents that differ in comments only.
    pub digest: Digest,
    pub line: usize,
    text: Arc<str>,
    index: usize,
}

/// Where a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// As people see it.
    pub shown: String,
    /// From the synced directory that it belongs to, if it belongs to one.
    pub source: String,
    /// Where relative paths in it start.
    pub base: PathBuf,
}

/// A file with everything in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    pub documents: Vec<Document>,
    /// YAML that is no object.
    pub foreign: Vec<Location>,
    /// What could not be read.
    pub broken: Vec<Complaint>,
}

/// An object by what its manifest says alone, whatever is known of its kind. Without a namespace it may be in the
/// default one or in none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Identity {
    pub(crate) fn of(object: &Object) -> Self {
        Self {
            group: object.group().to_owned(),
            kind: object.kind.clone(),
            namespace: object.namespace().unwrap_or(DEFAULT_NAMESPACE).to_owned(),
            name: object.name().to_owned(),
        }
    }

    pub(crate) fn of_key(kind: &Kind, key: &ObjectKey) -> Self {
        Self {
            group: kind.resource.group.clone(),
            kind: kind.name.clone(),
            namespace: key.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.into()),
            name: key.name.clone(),
        }
    }
}

impl Document {
    pub(crate) fn location(&self, field: &str) -> Location {
        let line = Lines::of(&self.text, self.index).map_or(self.line, |lines| lines.line(field));
        Location { file: self.place.shown.clone(), line }
    }

    pub(crate) fn complaint(&self, problem: Problem) -> Complaint {
        let location = Some(self.location(&problem.field));
        Complaint { object: Some(Subject::of(&self.object)), location, problem }
    }
}

impl Manifest {
    pub(crate) fn parse(text: &str, place: Place) -> Self {
        let (text, place): (Arc<str>, Arc<Place>) = (text.into(), place.into());
        let mut manifest = Self::default();
        for documents::Document { index, line, content } in documents::decode(&text) {
            let location = Location { file: place.shown.clone(), line };
            match content {
                Content::Foreign => manifest.foreign.push(location),
                Content::Broken(problems) => manifest.broken.extend(problems.into_iter().map(|problem| {
                    let lines = Lines::of(&text, index);
                    let line = lines.map_or(line, |lines| lines.line(&problem.field));
                    Complaint { object: None, location: Some(Location { line, ..location.clone() }), problem }
                })),
                Content::Object(object) => {
                    let digest = Digest::of_json(&object.to_value());
                    let (text, place) = (text.clone(), place.clone());
                    manifest.documents.push(Document { object: *object, place, digest, line, text, index });
                }
            }
        }
        manifest
    }

    /// A file that cannot be read is a complaint like any other.
    pub(crate) fn read(path: &Path, place: Place) -> Self {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, place),
            Err(error) => {
                let problem = Problem::error("unreadable", "", error.to_string());
                let location = Some(Location { file: place.shown, line: 1 });
                Self { broken: vec![Complaint { object: None, location, problem }], ..Self::default() }
            }
        }
    }
}

/// What `-f` names: files, directories with all below them, and standard input.
pub(crate) fn named(names: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    let mut manifests = Vec::new();
    for name in names {
        let failed = |source| Failure::File { file: name.clone(), source };
        if name == Path::new(STDIN) {
            let text = io::read_to_string(io::stdin().lock()).map_err(failed)?;
            let here = std::env::current_dir().map_err(failed)?;
            manifests.push(Manifest::parse(
                &text,
                Place { shown: "stdin".into(), source: "stdin".into(), base: here },
            ));
        } else if std::fs::metadata(name).map_err(failed)?.is_dir() {
            for path in walk(name).map_err(failed)?.files {
                manifests.push(Manifest::read(&path, place_of(&path)?));
            }
        } else {
            manifests.push(Manifest::read(name, place_of(name)?));
        }
    }
    Ok(manifests)
}

fn place_of(path: &Path) -> Result<Place, Failure> {
    let absolute = std::path::absolute(path).map_err(|source| Failure::File { file: path.into(), source })?;
    let base = absolute.parent().unwrap_or(Path::new("/")).to_owned();
    let shown = path.display().to_string();
    Ok(Place { source: shown.clone(), shown, base })
}

/// What is below a directory.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Files of manifests, in order of their names.
    pub files: Vec<PathBuf>,
    /// Directories in which there may be some, the directory itself included.
    pub directories: Vec<PathBuf>,
}

/// Hidden files and directories, what a link to a directory leads to, and bare repositories are left out.
pub(crate) fn walk(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::default();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let (kind, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
            match kind? {
                kind if kind.is_dir() && may_hold_manifests(&path) => left.push(path),
                kind if !kind.is_dir() && is_manifest(&path) && path.is_file() => tree.files.push(path),
                _ => {}
            }
        }
        tree.directories.push(directory);
    }
    tree.files.retain(|path| path != &root.join(CONFIGURATION));
    tree.files.sort();
    Ok(tree)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

pub(crate) fn may_hold_manifests(directory: &Path) -> bool {
    !is_hidden(directory) && directory.extension().is_none_or(|extension| extension != "git")
}

pub(crate) fn is_manifest(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    !is_hidden(file) && matches!(extension, Some("yaml" | "yml" | "json"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn document(text: &str) -> Document {
        Manifest::parse(text, place("dir/file.yaml", "file.yaml")).documents.remove(0)
    }

    pub(crate) fn place(shown: &str, source: &str) -> Place {
        Place { shown: shown.into(), source: source.into(), base: "/base/dir".into() }
    }

    #[test]
    fn every_document_is_taken_and_complaints_have_lines() {
        let text =
            "a: 1\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n---\napiVersion: v1\nkind: [\n";
        let manifest = Manifest::parse(text, place("f.yaml", "f.yaml"));
        assert_eq!(manifest.foreign, [Location { file: "f.yaml".into(), line: 1 }]);
        assert_eq!(manifest.documents.len(), 1);
        assert_eq!(manifest.documents[0].location("metadata.name").line, 6);
        let complaint = manifest.documents[0].complaint(Problem::error("x", "metadata.name", "is bad"));
        assert_eq!(complaint.to_string(), "error: Secret/x: metadata.name: is bad (f.yaml:6)");
        assert!(manifest.broken[0].to_string().contains("(f.yaml:9)"), "{}", manifest.broken[0]);
    }

    #[test]
    fn comments_do_not_change_a_document() {
        let plain = document("apiVersion: v1\nkind: A\nmetadata: {name: x}\n");
        let commented = document("# hello\napiVersion: v1\nkind: A\nmetadata:\n  name: x # here\n");
        assert_eq!(plain.digest, commented.digest);
        assert_ne!(plain.digest, document("apiVersion: v1\nkind: A\nmetadata: {name: other}\n").digest);
    }

    #[test]
    fn only_manifests_are_walked() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "b.yaml",
            "a/c.yml",
            "a/d.json",
            "a/notes.txt",
            "millrace.yaml",
            "a/millrace.yaml",
            ".hidden/e.yaml",
            ".f.yaml",
            "state.git/refs/g.yaml",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(root.path(), root.path().join("loop")).unwrap();
        let Tree { files: found, directories } = walk(root.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(root.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a/c.yml", "a/d.json", "a/millrace.yaml", "b.yaml"]);
        assert_eq!(directories, [root.path().to_owned(), root.path().join("a")]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_complaint() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.yaml");
        std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
        assert_eq!(Manifest::read(&path, place("x", "x")).broken.len(), 1);
        assert_eq!(Manifest::read(&root.path().join("none"), place("x", "x")).broken.len(), 1);
    }
}
