//! A connection whose client must keep reading.
//!
//! HTTP libraries time out requests that come slowly. A response that is not
//! taken is not a request: the client's window is full, the write waits, and the
//! connection would be held for as long as the client likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A connection that fails when a write has waited for `patience`.
pub(crate) struct Patient<S> {
    inner: S,
    patience: Duration,
    timer: Pin<Box<Sleep>>,
    /// Whether a write waits and the timer is running for it.
    waits: bool,
}

impl<S> Patient<S> {
    pub(crate) fn new(inner: S, patience: Duration) -> Self {
        Self {
            inner,
            patience,
            timer: Box::pin(tokio::time::sleep(patience)),
            waits: false,
        }
    }

    /// Fails a write that has waited too long.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.waits = false;
            return poll;
        }
        if !self.waits {
            self.waits = true;
            self.timer.as_mut().reset(Instant::now() + self.patience);
        }
        match self.timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watch(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.watch(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_flush(context);
        self.watch(context, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watch(context, poll)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use tokio::net::TcpListener;

    use super::*;

    async fn write_all(
        stream: &mut Patient<tokio::net::TcpStream>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let write =
                std::future::poll_fn(|context| Pin::new(&mut *stream).poll_write(context, rest));
            rest = &rest[write.await?..];
        }
        Ok(())
    }

    /// More than every buffer between the two holds.
    const MUCH: usize = 64 << 20;

    fn send(reads: bool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            let client = std::thread::spawn(move || {
                let mut client = TcpStream::connect(address).unwrap();
                let mut buffer = vec![0; 1 << 20];
                while reads && client.read(&mut buffer).unwrap() > 0 {}
                client
            });
            let (stream, _) = listener.accept().await?;
            let mut stream = Patient::new(stream, Duration::from_millis(300));
            let sent = write_all(&mut stream, &vec![7; MUCH]).await;
            drop(stream);
            drop(client.join());
            sent
        })
    }

    #[test]
    fn a_client_that_does_not_read_is_given_up() {
        send(true).unwrap();
        let why = send(false).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::TimedOut);
    }
}
