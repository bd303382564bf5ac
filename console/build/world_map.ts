// The map of the world as one SVG path, made when the console is built: no map library reaches the
// browser.
import { geoNaturalEarth1, geoPath } from 'd3-geo';
import { feature } from 'topojson-client';
import type { Topology } from 'topojson-specification';
import type { Plugin } from 'vite';
import world from 'world-atlas/land-110m.json' with { type: 'json' };

const moduleName = 'virtual:world-map';
const width = 960;
const height = 470;

/**
 * The module `virtual:world-map`: `land`, the path of all land, drawn in `width` by `height`, and
 * what the browser needs to place a point on it: `scale` and `center`, of Natural Earth.
 */
export function worldMap(): Plugin {
  return {
    name: 'world-map',
    resolveId: (id) => (id === moduleName ? `\0${moduleName}` : undefined),
    load(id) {
      if (id !== `\0${moduleName}`) return undefined;
      const topology = world as unknown as Topology;
      const land = feature(topology, topology.objects.land as never);
      const projection = geoNaturalEarth1().fitExtent(
        [
          [4, 4],
          [width - 4, height + 40],
        ],
        { type: 'Sphere' },
      );
      const path = geoPath(projection).digits(1)(land);
      const [x, y] = projection.translate();
      return `export const land = ${JSON.stringify(path)};
export const width = ${width};
export const height = ${height};
export const scale = ${projection.scale()};
export const center = ${JSON.stringify([x, y])};`;
    },
  };
}
