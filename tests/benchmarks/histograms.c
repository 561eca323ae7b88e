// Peers of counting, for codes of WORDS words: a plain loop, and a loop over the distances that faiss computed.
#include <stdint.h>
void count(const uint64_t *query, const uint64_t *database, const int64_t *query_label, const int64_t *database_label,
           long n_queries, long n_database, int64_t *all, int64_t *relevant)
{
    for (long q = 0; q < n_queries; q++, query += WORDS, all += 64 * WORDS + 1, relevant += 64 * WORDS + 1)
        for (long item = 0; item < n_database; item++) {
            long distance = 0;
            for (int w = 0; w < WORDS; w++)
                distance += __builtin_popcountll(query[w] ^ database[item * WORDS + w]);
            all[distance]++;
            relevant[distance] += query_label[q] == database_label[item];
        }
}
void histogram(const int32_t *distance, const int64_t *query_label, const int64_t *database_label,
               long n_queries, long n_database, int64_t *all, int64_t *relevant)
{
    for (long q = 0; q < n_queries; q++, distance += n_database, all += 64 * WORDS + 1, relevant += 64 * WORDS + 1)
        for (long item = 0; item < n_database; item++) {
            all[distance[item]]++;
            relevant[distance[item]] += query_label[q] == database_label[item];
        }
}
