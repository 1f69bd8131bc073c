//! Objects held in memory, written as one pack: loose, they cost a file each and twenty times as long.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::Repository;
use gix_pack::data::{Version, output};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Objects(#[from] gix::Error),
    #[error("a pack could not be written: {0}")]
    Write(#[from] std::io::Error),
    #[error("{0} objects are more than one pack takes")]
    TooMany(usize),
}

/// Moves what `repository` holds in memory into a pack with its index in `directory`. Nothing held, nothing written.
pub(super) fn write(repository: &Repository, directory: &Path) -> Result<(), Error> {
    let objects = repository.objects.reset_object_memory().unwrap_or_default();
    let count = u32::try_from(objects.len()).map_err(|_| Error::TooMany(objects.len()))?;
    if count == 0 {
        return Ok(());
    }
    let options = gix_pack::bundle::write::Options { thread_limit: Some(1), ..Default::default() };
    let mut entries = Vec::with_capacity(objects.len());
    for (id, (kind, data)) in objects.iter() {
        let data = gix::objs::Data { kind: *kind, object_hash: id.kind(), data };
        let count = output::Count::from_data(*id, None);
        entries.push(output::Entry::from_data(&count, &data, options.compression)?);
    }
    let (input, hash) = ([Ok(entries)].into_iter(), repository.object_hash());
    let mut pack = output::bytes::FromEntriesIter::new(input, Vec::new(), count, Version::V2, hash);
    pack.by_ref().try_for_each(|written| written.map(drop))?;
    let (bytes, progress, stop) = (pack.into_write(), &mut gix::progress::Discard, AtomicBool::new(false));
    let (input, target, bases) = (&mut bytes.as_slice(), Some(directory), None::<gix::odb::Handle>);
    let written = gix_pack::Bundle::write_to_directory(input, target, progress, &stop, bases, hash, options)?;
    if let Some(keep) = written.keep_path {
        std::fs::remove_file(keep)?; // else no repack ever touches the pack
    }
    Ok(())
}
