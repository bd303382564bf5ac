// npm's proxy-chain with a server of its own that lets everybody in.
//   node bench/proxy_chain.ts HOST PORT EXIT
//       prints its port; connections leave from the address EXIT
import { Server } from 'proxy-chain';

const [, , host = '', port = '', localAddress = ''] = process.argv;
const server = new Server({
  host,
  port: Number(port),
  prepareRequestFunction: () => ({ localAddress }),
});
await server.listen();
console.log(server.port);
process.on('SIGTERM', () => process.exit(0));
