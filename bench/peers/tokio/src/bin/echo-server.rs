//! As bench/servers/volt.c.
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BUFFER: usize = 16384;

async fn serve(mut client: TcpStream) {
    let mut buf = vec![0; BUFFER];
    client.set_nodelay(true).unwrap();
    while let Ok(n @ 1..) = client.read(&mut buf).await {
        if client.write_all(&buf[..n]).await.is_err() {
            break;
        }
    }
}

fn main() {
    let workers = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_io().build().unwrap();
    rt.block_on(rt.spawn(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        loop {
            let (client, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(client));
        }
    }))
    .unwrap();
}
