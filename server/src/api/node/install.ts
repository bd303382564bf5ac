// GET /node/install.sh and /node/packages/{file}, not in the API: the programs of a future node.
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Downloads } from '../../bounds/downloads.ts';
import type { Context } from '../../context.ts';
import { notFound } from '../../errors.ts';

export function installRoutes(app: FastifyInstance, { install, config, log }: Context): void {
  const downloads = new Downloads(config.max_connections, log);
  app.get('/node/install.sh', async (_, reply) => {
    const { text } = await install.script();
    return reply.type('text/x-shellscript; charset=utf-8').send(text);
  });

  app.get<{ Params: { file: string } }>('/node/packages/:file', async (request, reply) => {
    // Only listed names lead to a file, so none leads out of the folder.
    const { file } = request.params;
    const match = (await install.packages()).find((entry) => entry.file === file);
    if (!match) throw notFound(`There is no package ${JSON.stringify(file)}.`);
    if (request.method === 'GET') downloads.begin(reply.raw, request.ip);
    return reply
      .type('application/vnd.debian.binary-package')
      .header('content-length', match.bytes)
      .send(createReadStream(join(install.folder, file)));
  });
}
