/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Worked numbers from published sources and from arithmetic of high precision, none of it ours. Each is good
 * to half a unit of its last digit.
 */
#ifndef KPHI_TESTS_PHI_FACTS_H
#define KPHI_TESTS_PHI_FACTS_H

#include "core/models.h"

/* The standard score at which each model reaches a phi, and what the normal model says at Akka's. */
static const struct {
	double phi, normal_z, akka_y, normal_at_akka_y;
} threshold_facts[] = {
	{0.5, 0.478274, 0.477880, 0.4998}, {1, 1.281552, 1.282215, 1.0005},
	{2, 2.326348, 2.322746, 1.9958},   {3, 3.090232, 3.058938, 2.9544},
	{5, 4.264891, 4.119191, 4.7210},   {8, 5.612001, 5.225987, 7.0624},
	{10, 6.361341, 5.799025, 8.4769},  {12, 7.034484, 6.292124, 9.8053},
	{16, 8.222082, 7.119681, 12.2669}, {20, 9.262340, 7.807122, 14.5338},
};

/* The test table of Akka and Pekko (t, mean, sd), with the true normal phi beside it or 0. */
static const struct {
	int t, mean, sd;
	double akka, normal;
} akka_facts[] = {
	{0, 0, 10, 0.301029996, 0.301029996},
	{6, 0, 10, 0.562054079, 0.561848427},
	{15, 0, 10, 1.174268680, 1.175176722},
	{20, 0, 10, 1.642827885, 1.643016080},
	{25, 0, 10, 2.216071266, 2.206931806},
	{35, 0, 10, 3.742445064, 3.633335999},
	{40, 0, 10, 4.736694583, 4.499334908},
	{22, 20, 3, 0.597950315, 0.597751453},
	{10, 0, 1, 37.584713053, 23.118053405},
	{500, 1000, 100, 0.000000022, 0.000000124},
	{1200, 1000, 100, 1.642827885, 1.643016080},
	{1400, 1000, 100, 4.736694583, 4.499334908},
	{1600, 1000, 100, 10.782600858, 9.005864327},
	{1700, 1000, 100, 15.368525623, 11.892853637},
	{1100, 1000, 500, 0.376073792, 0},
	{1100, 1000, 100, 0.799508321, 0},
};

/* Means, standard deviations and silences in ms. `within` is half a unit of the source's last digit. */
static const struct {
	enum kphi_model model;
	double mean, sd, pause, t, phi, within;
} judgement_facts[] = {
	{KPHI_MODEL_NORMAL, 1000, 50, 0, 1050, 0.799546, 5e-7},
	{KPHI_MODEL_NORMAL, 1000, 50, 0, 1200, 4.499335, 5e-7},
	{KPHI_MODEL_NORMAL, 1000, 50, 0, 1300, 9.005864, 5e-7},
	{KPHI_MODEL_NORMAL, 1000, 50, 0, 1500, 23.118053, 5e-7},
	{KPHI_MODEL_NORMAL, 103, 14, 0, 111, 0.546904, 5e-7},
	{KPHI_MODEL_NORMAL, 1000, 100, 0, 1500, 6.542646, 5e-7},
	{KPHI_MODEL_EXPONENTIAL, 1000, 100, 0, 1500, 0.651442, 5e-7},
	{KPHI_MODEL_NORMAL, 1000, 2, 0, 1060, 197.3, 5e-2}, /* a collapsed standard deviation */
	{KPHI_MODEL_NORMAL, 1000, 100, 0, 1060, 0.5618, 5e-5}, /* the same, floored */
	{KPHI_MODEL_NORMAL, 1000, 100, 0, 2500, 50.4, 5e-2},
	{KPHI_MODEL_NORMAL, 8.75, 0.72169, 0, 17.5, 33, 0.5}, /* BFD: one lost packet */
	{KPHI_MODEL_EXPONENTIAL, 111, 0, 0, 111, 0.434294, 5e-7}, /* Cassandra */
	{KPHI_MODEL_EXPONENTIAL, 111, 0, 0, 3000 - 555, 9.566216, 5e-7},
	{KPHI_MODEL_AKKA, 733.3333, 428.8227, 0, 100, 0.031512294, 5e-8},
	{KPHI_MODEL_AKKA, 775, 427.9311, 0, 100, 0.025714294, 5e-8},
	{KPHI_MODEL_AKKA, 775, 427.9311, 0, 7100, 109.210582130, 5e-5},
};

/* When a threshold is reached, in ms. */
static const struct {
	enum kphi_model model;
	double mean, sd, pause, phi, t, within;
} deadline_facts[] = {
	{KPHI_MODEL_NORMAL, 1000, 50, 0, 8, 1280.6, 5e-2},
	{KPHI_MODEL_AKKA, 1000, 100, 3000, 8, 4522.6, 5e-2},
	{KPHI_MODEL_AKKA, 1000, 250, 3000, 8, 5306, 0.6}, /* after a single beat */
	{KPHI_MODEL_AKKA, 1000, 100, 10000, 10, 11580, 0.5}, /* Akka's remote watch */
	{KPHI_MODEL_AKKA, 1299, 9450.481, 3000, 8, 53687, 0.5}, /* ports that learned an outage of 300 s */
	{KPHI_MODEL_EXPONENTIAL, 1000, 0, 0, 8, 18420.7, 5e-2},
	{KPHI_MODEL_EXPONENTIAL, 1000, 0, 0, 5, 11512.9, 5e-2},
	/* Cassandra with its 2 s seed and n intervals of 1 s: mean (2 + n) / (1 + n) */
	{KPHI_MODEL_EXPONENTIAL, 2000, 0, 0, 8, 36841.4, 5e-2},
	{KPHI_MODEL_EXPONENTIAL, 1500, 0, 0, 8, 27631.0, 5e-2},
	{KPHI_MODEL_EXPONENTIAL, 4e3 / 3, 0, 0, 8, 24560.9, 5e-2},
	{KPHI_MODEL_EXPONENTIAL, 12e3 / 11, 0, 0, 8, 20095.3, 5e-2},
	{KPHI_MODEL_EXPONENTIAL, 1001, 0, 0, 8, 18439.1, 5e-2},
};

#endif
