// How a body gets to its client: reads are compressed, and large ones sent as the client reads.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { compressed, leastCompressedBytes, preferredEncoding } from './compression.ts';
import { contentTag, encodedTag } from './conditions.ts';
import { type LargeBodies, largeBytes } from './large_bodies.ts';

/** For every audience. */
export function addSending(app: FastifyInstance, bodies: LargeBodies): void {
  const slice = (body: string | Buffer, request: FastifyRequest, reply: FastifyReply) => {
    if (body.length < largeBytes || request.method === 'HEAD') return body;
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    reply.header('content-length', bytes.length);
    return bodies.read(bytes, reply.raw);
  };
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) {
      tagUnchanged(request, reply);
      done(null, payload);
    } else if (payload.length < leastCompressedBytes || !isCompressible(request, reply)) {
      done(null, slice(payload, request, reply));
    } else {
      const body = Buffer.isBuffer(payload) ? payload : Buffer.from(payload);
      compress(body, request, reply).then(
        (sent) => done(null, slice(sent, request, reply)),
        (error: Error) => done(error),
      );
    }
  });
}

/**
 * Compresses texts of GET and HEAD. Other methods show secrets, whose length a compressed size
 * could reveal. Agents are near or have fast lines, and request much at once.
 */
function isCompressible(request: FastifyRequest, reply: FastifyReply): boolean {
  return (
    (request.method === 'GET' || request.method === 'HEAD') &&
    reply.statusCode === 200 &&
    !request.node &&
    !reply.hasHeader('content-encoding') &&
    /^(?:text\/|application\/json)/.test(String(reply.getHeader('content-type')))
  );
}

async function compress(
  body: Buffer,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Buffer> {
  const vary = String(reply.getHeader('vary') ?? '');
  if (!vary.includes('accept-encoding')) {
    reply.header('vary', vary ? `${vary}, accept-encoding` : 'accept-encoding');
  }
  const encoding = preferredEncoding(request.headers);
  const encoded = encoding && (await compressed(body, encoding, clientOf(request)));
  if (!encoded) return body;
  reply.headers({ 'content-encoding': encoding, 'content-length': encoded.length });
  const etag = reply.getHeader('etag');
  if (typeof etag === 'string') reply.header('etag', encodedTag(etag, encoding));
  return encoded;
}

/** The client that takes turns with others: an account, or an address. */
function clientOf({ session, person, ip }: FastifyRequest): string {
  const account_id = session?.principal.account_id ?? person?.account_id;
  return account_id === undefined ? ip : String(account_id);
}

/** A 304 has the tag of the response that the client holds, in the encoding that the client has. */
function tagUnchanged({ headers }: FastifyRequest, reply: FastifyReply): void {
  const etags = headers['if-none-match'];
  const isHeld = reply.statusCode === 304 && etags && contentTag(etags) === reply.getHeader('etag');
  if (isHeld) reply.header('etag', etags);
}
