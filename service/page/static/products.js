/** Product details, asked for once each: in one call where the service has that, else one by one. */

const AT_ONCE = 6;
const PER_CALL = 50;

export function createProducts(client) {
  const known = new Map();
  let inOneCall = true;

  const remember = (product) => product?.item_id !== undefined && known.set(product.item_id, { ...known.get(product.item_id), ...product });

  async function askTogether(ids, signal) {
    const { items } = await client.items(ids, { signal });
    items.forEach(remember);
    if (!ids.some((id) => known.has(id))) inOneCall = false;
  }

  async function askEach(ids, signal) {
    const queue = [...ids];
    const worker = async () => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
        await client.item(id, { signal }).then(remember, () => known.set(id, { item_id: id }));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  return {
    get: (id) => known.get(id) ?? { item_id: id },
    remember,
    /** Loads what is missing of `ids`; a product that cannot be had is shown by its id. */
    async load(ids, signal) {
      const missing = [...new Set(ids)].filter((id) => !known.has(id));
      for (let start = 0; inOneCall && start < missing.length; start += PER_CALL) {
        await askTogether(missing.slice(start, start + PER_CALL), signal).catch((error) => {
          if (signal?.aborted) throw error;
          inOneCall = false;
        });
      }
      await askEach(missing.filter((id) => !known.has(id)), signal);
    },
    /** All that the service says of one product. */
    async details(id, signal) {
      remember(await client.item(id, { signal }));
      return known.get(id);
    },
  };
}
