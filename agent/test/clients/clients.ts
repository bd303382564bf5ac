// The foreign clients: programs that others wrote, each configured by its own means to use a proxy.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runApt } from './apt.ts';
import { cloneByGit, pushByGit } from './git.ts';
import { run } from './programs.ts';
import { digestOf } from './site.ts';

/** A task for a client. */
export interface Deed {
  /** Where the site is: `https://www.example:1234/deed17`. */
  site: string;
  /** The proxy, with credentials if any: `http://alice:ewt_…@127.0.0.1:11001`. */
  proxy: string;
  /** The certificates of the site and of the proxy. */
  authorities: string;
  /** The file to upload. */
  blob: string;
  /** A folder of its own, empty. */
  home: string;
}

export interface Outcome {
  /** The digest of the bytes that arrived here, or at the site; undefined if the client failed. */
  digest: string | undefined;
  /** Its whole output. */
  output: string;
}

type Scheme = 'http' | 'https';

export interface ForeignClient {
  name: string;
  schemes: Scheme[];
  /** The tasks for which it can speak TLS with its proxy. */
  tlsToProxy: Scheme[];
  /** The version of HTTP that it uses with an HTTPS site. */
  version: '1.1' | '2.0';
  /** Its words for a refusal of which it does not tell the status. */
  refusal?: RegExp;
  download(deed: Deed): Promise<Outcome>;
  upload?(deed: Deed): Promise<Outcome>;
  /** Sends a text through a WebSocket, which echoes it; the text counts as the digest. */
  speak?(deed: Deed): Promise<Outcome>;
}

const both: Scheme[] = ['http', 'https'];
/** A program that writes the response of a URL to a file. */
type Fetch = (deed: Deed, got: string, isUpload: boolean) => ReturnType<typeof run>;

function fetcher(fetch: Fetch): Pick<ForeignClient, 'download' | 'upload'> {
  const read = async (deed: Deed, isUpload: boolean): Promise<Outcome> => {
    const got = join(deed.home, 'got');
    const { code, output } = await fetch(deed, got, isUpload);
    if (code !== 0 || !existsSync(got)) return { digest: undefined, output };
    const bytes = readFileSync(got);
    return { digest: isUpload ? bytes.toString() : digestOf(bytes), output };
  };
  return { download: (deed) => read(deed, false), upload: (deed) => read(deed, true) };
}

const programs = import.meta.dirname;
/** Debian's Python, which has Debian's packages. */
const python = '/usr/bin/python3';

const byPython = (program: string) =>
  fetcher(({ site, proxy, authorities, blob, home }, got, isUpload) => {
    const args = [`${site}/blob`, proxy, authorities, got, ...(isUpload ? [blob] : [])];
    return run(python, [join(programs, program), ...args], home);
  });

const node = (way: string, deed: Deed, got: string, isUpload: boolean) => {
  const { site, proxy, authorities, blob, home } = deed;
  const args = [way, `${site}/blob`, proxy, got, ...(isUpload ? [blob] : [])];
  return run(process.execPath, [join(programs, 'with_node.mjs'), ...args], home, {
    ...{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy },
    NODE_EXTRA_CA_CERTS: authorities,
  });
};

const byNode = (way: string) => fetcher((deed, got, isUpload) => node(way, deed, got, isUpload));

async function speakByNode(deed: Deed): Promise<Outcome> {
  const got = join(deed.home, 'got');
  const { code, output } = await node('websocket', deed, got, false);
  return { digest: code === 0 ? readFileSync(got, 'utf8') : undefined, output };
}

export const foreignClients: ForeignClient[] = [
  {
    name: 'curl',
    ...{ schemes: both, tlsToProxy: both, version: '2.0' },
    ...fetcher(({ site, proxy, authorities, blob, home }, got, isUpload) => {
      const trust = ['--cacert', authorities, '--proxy-cacert', authorities];
      const upload = isUpload ? ['--upload-file', blob] : [];
      // Of a second 407 in a row it does not tell the number by itself.
      const telling = ['--silent', '--show-error', '--fail', '--write-out', '%{http_connect}'];
      const args = [...telling, '--proxy', proxy, ...trust, ...upload];
      return run('curl', [...args, '--output', got, `${site}/blob`], home);
    }),
  },
  {
    name: 'wget',
    ...{ schemes: both, tlsToProxy: [], version: '1.1', refusal: /tunneling failed/ },
    ...fetcher(({ site, proxy, authorities, blob, home }, got, isUpload) => {
      const by = ['http', 'https'].flatMap((scheme) => ['--execute', `${scheme}_proxy=${proxy}`]);
      const upload = isUpload ? ['--method=PUT', `--body-file=${blob}`] : [];
      const args = ['--no-verbose', '--tries=1', `--ca-certificate=${authorities}`];
      return run('wget', [...args, ...by, ...upload, '-O', got, `${site}/blob`], home);
    }),
  },
  {
    name: 'Python urllib',
    ...{ schemes: both, tlsToProxy: [], version: '1.1' },
    ...byPython('with_urllib.py'),
  },
  {
    name: 'Python requests',
    ...{ schemes: both, tlsToProxy: both, version: '1.1' },
    ...byPython('with_requests.py'),
  },
  {
    name: 'fetch of Node',
    ...{ schemes: both, tlsToProxy: both, version: '1.1' },
    ...byNode('fetch'),
    speak: speakByNode,
  },
  {
    name: 'http and https of Node',
    ...{ schemes: both, tlsToProxy: both, version: '1.1' },
    ...byNode('request'),
  },
  {
    name: 'http2 of Node',
    ...{ schemes: ['https'], tlsToProxy: [], version: '2.0' },
    ...byNode('http2'),
  },
  {
    name: 'git',
    ...{ schemes: both, tlsToProxy: both, version: '1.1' },
    download: cloneByGit,
    upload: pushByGit,
  },
  {
    name: 'apt',
    // With TLS within TLS and any proxy, it waits half a minute for bytes that it has already read.
    ...{ schemes: both, tlsToProxy: ['http'], version: '1.1' },
    download: runApt,
  },
];
