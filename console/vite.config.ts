// Builds the console into the files that the server serves at `/`, and weighs the first page.
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { worldMap } from './build/world_map.ts';

const licences = 'licenses.md';

/** Of JavaScript, compressed, before the first page can be used. */
const mostFirstPageBytes = 90_000;
/** Of the typeface, which is compressed as it is. */
const mostTypefaceBytes = 45_000;

/** Weighs the compressed JavaScript of the first page: too much of it fails the build. */
function firstPageSize(): Plugin {
  return {
    name: 'first-page-size',
    writeBundle({ dir }, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const wanted = new Set<string>();
      const want = (name: string) => {
        const chunk = chunks.find((chunk) => chunk.fileName === name);
        if (!chunk || wanted.has(name)) return;
        wanted.add(name);
        for (const other of chunk.imports) want(other);
      };
      for (const chunk of chunks) {
        // The overview is the first page after signing in.
        const isFirst =
          chunk.isEntry || chunk.facadeModuleId?.endsWith('/account/overview/page.tsx');
        if (isFirst) want(chunk.fileName);
      }
      const bytes = [...wanted].reduce(
        (sum, name) => sum + gzipSync(readFileSync(`${dir}/${name}`), { level: 9 }).length,
        0,
      );
      const share = `${(bytes / 1000).toFixed(1)} kB of ${mostFirstPageBytes / 1000} kB`;
      if (bytes > mostFirstPageBytes) this.error(`the first page is too heavy: ${share}`);
      this.info(`the first page takes ${share} of compressed JavaScript`);
    },
  };
}

/** Weighs the typeface, and puts its licence, as it is no module, behind those of the libraries. */
function typeface(): Plugin {
  return {
    name: 'typeface',
    writeBundle({ dir }, bundle) {
      const faces = Object.values(bundle).filter(({ fileName }) => fileName.endsWith('.woff2'));
      const bytes = faces.reduce(
        (sum, { fileName }) => sum + statSync(`${dir}/${fileName}`).size,
        0,
      );
      if (faces.length === 0 || bytes > mostTypefaceBytes)
        this.error(`the typeface takes ${bytes} bytes`);
      const path = import.meta.resolve('@fontsource-variable/geist/LICENSE');
      appendFileSync(`${dir}/${licences}`, `\n## Geist\n\n${readFileSync(new URL(path), 'utf8')}`);
    },
  };
}

/** While the console is worked on: the server that answers for `npx vite console`. */
const target = env.EXITWARD_DEV_SERVER ?? 'http://127.0.0.1:8080';
/** The page's own Host: the server compares it with the Origin of each write. */
const api = { target, changeOrigin: false };

export default defineConfig({
  server: { host: '127.0.0.1', proxy: { '/console': api, '/admin': api, '/docs': api } },
  root: fileURLToPath(new URL('.', import.meta.url)),
  build: {
    outDir: fileURLToPath(new URL('../server/console', import.meta.url)),
    emptyOutDir: true,
    target: 'es2023',
    // Nothing is inlined as data: the content policy lets in files of this server alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The licences that the libraries within ask to be passed on.
    license: { fileName: licences },
    // A slow machine is no reason for a warning to a newcomer.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  plugins: [worldMap(), firstPageSize(), typeface()],
});
