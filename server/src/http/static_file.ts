// One file of the installation: read at its first request, then held in memory, also compressed.
import { existsSync, readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Encoding, preferredEncoding } from './compression.ts';
import { encodedTag, etagMatches, etagOf } from './conditions.ts';

interface Content {
  identity: Buffer;
  etag: string;
  /** Undefined if nothing was compressed in advance: then it is sent like any other response. */
  encoded: Record<Encoding, Buffer> | undefined;
}

export class StaticFile {
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #edit: ((content: Buffer) => Buffer) | undefined;
  #content: Content | undefined;

  /**
   * `headers` are sent with the file, and with a response that says that it is unchanged. `edit`
   * makes what is sent from the file's content.
   */
  constructor(path: string, headers: Record<string, string>, edit?: (content: Buffer) => Buffer) {
    this.#path = path;
    this.#headers = headers;
    this.#edit = edit;
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    this.#content ??= read(this.#path, this.#edit);
    const { identity, etag, encoded } = this.#content;
    const encoding = encoded && preferredEncoding(request.headers);
    reply.removeHeader('vary').headers(this.#headers).header('etag', etag);
    if (encoded) reply.header('vary', 'accept-encoding');
    if (etagMatches(request.headers['if-none-match'], etag)) return reply.code(304).send();
    if (!encoding) return reply.send(identity);
    reply.headers({ 'content-encoding': encoding, etag: encodedTag(etag, encoding) });
    return reply.send(encoded[encoding]);
  }
}

function read(path: string, edit: ((content: Buffer) => Buffer) | undefined): Content {
  if (edit) {
    const identity = edit(readFileSync(path));
    return { identity, etag: etagOf(identity), encoded: undefined };
  }
  const identity = readFileSync(path);
  const encoded = existsSync(`${path}.br`)
    ? { br: readFileSync(`${path}.br`), gzip: readFileSync(`${path}.gz`) }
    : undefined;
  return { identity, etag: etagOf(identity), encoded };
}
