//! Where a store may be: paths that become repositories, and those that are refused with the remedy.

use std::os::unix::fs::chown;

use anyhow::Result;
use state_store_writer::store::git::{GitStore, Settings};
use state_store_writer::store::{Error, Revision, StateStore};

use crate::site::{FILE, Site, git, put, write};

#[tokio::test]
async fn a_missing_path_becomes_a_bare_repository() -> Result<()> {
    let site = Site::vacant()?;
    let place = site.path("deep/er/state store");
    let url = format!("file://{}/deep/er/state%20store", site.path("").display());
    let mut store = GitStore::new(Settings { url, branch: "env/prod".to_owned(), ..site.settings("a") })?;
    assert_eq!(store.snapshot().await?, Revision::Absent);
    let revision = write(&mut store, &[put("a", "1")]).await?;
    assert_eq!(git(&place, &["rev-parse", "--is-bare-repository"], "")?, "true");
    assert_eq!(git(&place, &["symbolic-ref", "HEAD"], "")?, "refs/heads/env/prod");
    assert_eq!(git(&place, &["rev-parse", "HEAD"], "")?, revision);
    assert_eq!(std::fs::read_dir(site.path("deep/er"))?.count(), 1, "nothing else is left there");
    Ok(())
}

#[tokio::test]
async fn two_stores_make_one_repository() -> Result<()> {
    let site = Site::vacant()?;
    let (mut one, mut two) = (site.store("a")?, site.store("b")?);
    let (first, second) = tokio::join!(one.snapshot(), two.snapshot());
    assert_eq!((first?, second?), (Revision::Absent, Revision::Absent));
    write(&mut one, &[put("a", "1")]).await?;
    write(&mut two, &[put("b", "2")]).await?;
    site.assert_files(&[("a", "1"), ("b", "2")]);
    Ok(())
}

#[tokio::test]
async fn an_empty_directory_becomes_a_bare_repository() -> Result<()> {
    let site = Site::vacant()?;
    std::fs::create_dir(site.repository())?;
    write(&mut site.store("a")?, &[put("a", "1")]).await?;
    site.assert_files(&[("a", "1")]);
    Ok(())
}

#[tokio::test]
async fn a_missing_branch_is_created_beside_the_others() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = GitStore::new(Settings { branch: "other".to_owned(), ..site.settings("a") })?;
    assert_eq!(store.snapshot().await?, Revision::Absent);
    write(&mut store, &[put("a", "1")]).await?;
    assert_eq!(site.git(&["ls-tree", "--name-only", "other"])?, "a");
    assert_eq!(site.git(&["rev-list", "--count", "other"])?, "1");
    site.assert_files(&[("README", "theirs")]);
    Ok(())
}

/// Asserts that the place cannot be used, and returns why.
async fn refused(site: &Site) -> Result<String> {
    match site.store("a")?.snapshot().await {
        Err(error @ Error::Unusable { .. }) => Ok(error.to_string()),
        other => anyhow::bail!("{other:?}"),
    }
}

#[tokio::test]
async fn a_checked_out_branch_is_refused_with_the_remedy() -> Result<()> {
    let site = Site::vacant()?;
    let place = site.repository();
    std::fs::create_dir_all(place.join(".git"))?;
    git(&place.join(".git"), &["init", "--quiet", "--initial-branch=main"], "")?;
    git(&place.join(".git"), &["config", "core.bare", "false"], "")?;
    let text = refused(&site).await?;
    assert!(text.contains("store-a") && text.contains("git clone --bare"), "{text}");
    assert!(text.contains(&place.display().to_string()), "{text}");
    git(&place.join(".git"), &["symbolic-ref", "HEAD", "refs/heads/other"], "")?;
    write(&mut site.store("a")?, &[put("a", "1")]).await?;
    assert_eq!(git(&place.join(".git"), &["show", "main:a"], "")?, "1");
    Ok(())
}

#[tokio::test]
async fn what_is_no_repository_is_refused_and_left_alone() -> Result<()> {
    let site = Site::vacant()?;
    std::fs::create_dir(site.repository())?;
    std::fs::write(site.repository().join("diary"), "dear")?;
    let text = refused(&site).await?;
    assert!(text.contains("neither empty nor a Git repository"), "{text}");
    assert_eq!(std::fs::read_dir(site.repository())?.count(), 1);

    let site = Site::vacant()?;
    std::fs::write(site.repository(), "a file")?;
    let text = refused(&site).await?;
    assert!(text.contains(&site.repository().display().to_string()), "{text}");
    assert_eq!(std::fs::read(site.repository())?, b"a file");
    Ok(())
}

#[tokio::test]
async fn a_repository_of_another_user_is_refused_with_the_remedy() -> Result<()> {
    let site = Site::bare()?;
    site.foreign(&[(FILE, "a", "1")])?;
    if chown(site.repository(), Some(12345), None).is_err() {
        return Ok(()); // only root can give a directory away
    }
    let text = refused(&site).await?;
    assert!(text.contains("belongs to user 12345") && text.contains("chown"), "{text}");
    Ok(())
}

#[test]
fn settings_that_name_no_place_are_refused() -> Result<()> {
    let site = Site::vacant()?;
    for (url, branch) in [
        ("https://example.com/state.git", "main"),
        ("file:state.git", "main"),
        ("state.git", "main"),
        ("file:///state.git", "two..dots"),
        ("file:///state.git", ""),
        ("file:///state.git", "sp ace"),
        ("file:///state.git", "colon:colon"),
    ] {
        let (url, branch) = (url.to_owned(), branch.to_owned());
        let settings = Settings { url, branch, ..site.settings("a") };
        match GitStore::new(settings) {
            Err(Error::Unusable { store, .. }) => assert_eq!(store, "store-a"),
            other => anyhow::bail!("{other:?}"),
        }
    }
    Ok(())
}
