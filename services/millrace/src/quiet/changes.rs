//! Ticks for changes, from a watch that may end and is then opened again.

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

/// Not open at first.
#[derive(Default)]
pub(super) struct Changes {
    ticks: Option<BoxStream<'static, ()>>,
}

impl Changes {
    /// To be called before every look, which answers all changes before it: forgets those, and opens the watch if
    /// there is none, so that no change falls between.
    pub(super) async fn catch_up<E, F>(&mut self, open: impl FnOnce() -> F) -> Result<(), E>
    where
        F: Future<Output = Result<BoxStream<'static, ()>, E>>,
    {
        while let Some(tick) = self.ticks.as_mut().and_then(|ticks| ticks.next().now_or_never()) {
            if tick.is_none() {
                self.ticks = None;
            }
        }
        if self.ticks.is_none() {
            self.ticks = Some(open().await?);
        }
        Ok(())
    }

    /// Returns at the next change, and when there may have been one that nobody saw.
    pub(super) async fn next(&mut self) {
        if let Some(ticks) = &mut self.ticks
            && ticks.next().await.is_none()
        {
            self.ticks = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    async fn catch_up(changes: &mut Changes, ticks: BoxStream<'static, ()>) {
        changes.catch_up(|| async { Ok::<_, ()>(ticks) }).await.unwrap();
    }

    fn ticks(count: usize) -> BoxStream<'static, ()> {
        stream::iter(vec![(); count]).chain(stream::pending()).boxed()
    }

    #[tokio::test]
    async fn changes_before_a_look_are_forgotten_and_those_after_it_are_not() {
        let (tell, told) = futures::channel::mpsc::unbounded();
        let mut changes = Changes::default();
        catch_up(&mut changes, told.boxed()).await;
        tell.unbounded_send(()).unwrap();
        catch_up(&mut changes, ticks(9)).await;
        assert!(changes.next().now_or_never().is_none());
        tell.unbounded_send(()).unwrap();
        assert!(changes.next().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_watch_that_ended_is_a_change_and_is_opened_again() {
        let mut changes = Changes::default();
        catch_up(&mut changes, stream::empty().boxed()).await;
        changes.next().await;
        catch_up(&mut changes, ticks(1)).await;
        changes.next().await;
        assert!(changes.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_watch_that_cannot_be_opened_is_tried_again() {
        let mut changes = Changes::default();
        assert_eq!(changes.catch_up(|| async { Err("away") }).await, Err("away"));
        assert!(changes.next().now_or_never().is_some(), "who waits is not left waiting");
        catch_up(&mut changes, ticks(1)).await;
        assert!(changes.next().now_or_never().is_some());
    }
}
