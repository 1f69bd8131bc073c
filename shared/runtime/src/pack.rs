//! The packed form of a workload group: a tar archive that depends on paths and contents alone, so that equal files
//! have equal digests.

use std::collections::BTreeMap;
use std::io::Read;

use bytes::Bytes;

/// Paths relative to the group's root, with contents.
pub type Files = BTreeMap<String, Bytes>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("packing `{path}`")]
    Write { path: String, source: std::io::Error },
    #[error("the archive is damaged")]
    Read(#[source] std::io::Error),
    #[error("the archive holds `{0}`, which is no regular file with a name in UTF-8")]
    Entry(String),
}

pub fn pack(files: &Files) -> Result<Bytes, Error> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let failed = |source| Error::Write { path: path.clone(), source };
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        archive.append_data(&mut header, path, &content[..]).map_err(failed)?;
    }
    archive.into_inner().map(Bytes::from).map_err(Error::Read)
}

pub fn unpack(archive: &Bytes) -> Result<Files, Error> {
    let mut reader = tar::Archive::new(&archive[..]);
    let mut files = Files::new();
    for entry in reader.entries().map_err(Error::Read)? {
        let mut entry = entry.map_err(Error::Read)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() != tar::EntryType::Regular || path.contains('\u{fffd}') {
            return Err(Error::Entry(path));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(Error::Read)?;
        files.insert(path, content.into());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_have_equal_archives() {
        let long = format!("{}/file.yaml", "directory/".repeat(30));
        let files: Files = [("a/b.yaml".into(), "1".into()), (long, Bytes::new())].into();
        let archive = pack(&files).unwrap();
        assert_eq!(archive, pack(&files).unwrap());
        assert_eq!(unpack(&archive).unwrap(), files);
        assert!(unpack(&Bytes::from_static(&[1; 600])).is_err());
    }
}
