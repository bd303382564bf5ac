// Requests that fetch would not send: a path of any spelling, header lines as they are, and the
// answer's own header lines.
import { request } from 'node:http';

export interface RawAnswer {
  status: number;
  /** Name and value in turn, as they came over the wire. */
  headerLines: string[];
  text: string;
  bytes: Buffer;
}

export interface RawRequest {
  method?: string;
  /** The request target as it goes over the wire. */
  path: string;
  /** Header lines as name and value in turn; Host is added where it is not among them. */
  headers?: string[];
  body?: string | Buffer;
}

/** Sends exactly this to the server at `url`, on a connection of its own. */
export function sendRaw(
  url: string,
  { method, path, headers = [], body }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const hasHost = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  const length = body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  const lines = [...(hasHost ? [] : ['Host', `${hostname}:${port}`]), ...headers, ...length];
  return new Promise((resolve, reject) => {
    const sent = request({
      hostname,
      port,
      method: method ?? 'GET',
      path,
      headers: lines,
      agent: false,
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headerLines: response.rawHeaders,
          bytes: Buffer.concat(chunks),
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    sent.end(body);
  });
}
