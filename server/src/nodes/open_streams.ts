// The change streams that are open in this process, by server.
import type { NodeStream } from './node_stream.ts';

/** A node that reconnects still has its old stream for a moment; it does not read older ones. */
const maxStreamsPerNode = 2;

export class OpenStreams {
  readonly #byServer = new Map<number, Set<NodeStream>>();

  get isEmpty(): boolean {
    return this.#byServer.size === 0;
  }

  get servers(): Iterable<number> {
    return this.#byServer.keys();
  }

  hasServer(server_id: number): boolean {
    return this.#byServer.has(server_id);
  }

  ofServer(server_id: number): Iterable<NodeStream> {
    return this.#byServer.get(server_id) ?? [];
  }

  all(): NodeStream[] {
    return Array.from(this.#byServer.values()).flatMap((streams) => Array.from(streams));
  }

  /** Adds a stream, and cuts the node's oldest when it has too many. */
  add(stream: NodeStream): void {
    const { id, server_id } = stream.node;
    const streams = this.#byServer.get(server_id) ?? new Set();
    const ofNode = Array.from(streams).filter(({ node, isOpen }) => node.id === id && isOpen);
    for (const older of ofNode.slice(0, ofNode.length + 1 - maxStreamsPerNode)) older.cut();
    this.#byServer.set(server_id, streams.add(stream));
  }

  remove(stream: NodeStream): void {
    const { server_id } = stream.node;
    const streams = this.#byServer.get(server_id);
    streams?.delete(stream);
    if (streams?.size === 0) this.#byServer.delete(server_id);
  }
}
