//! A TCP proxy on loopback whose connections a test can cut, as a network does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    cut: Arc<Notify>,
    n_connections: Arc<AtomicUsize>,
}

impl Proxy {
    /// Starts a proxy to `to` on 127.0.0.1 in the current runtime.
    pub async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, n_connections) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (is_cut, n_accepted) = (Arc::clone(&cut), Arc::clone(&n_connections));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                n_accepted.fetch_add(1, Ordering::SeqCst);
                let is_cut = Arc::clone(&is_cut);
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                    tokio::select! {
                        // Either side may break; that is what a test of this is about.
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        () = is_cut.notified() => {}
                    }
                });
            }
        });
        Self { port, cut, n_connections }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts every connection there is; new ones are taken.
    pub fn cut(&self) {
        self.cut.notify_waiters();
    }

    /// How many connections there have been.
    pub fn n_connections(&self) -> usize {
        self.n_connections.load(Ordering::SeqCst)
    }
}
